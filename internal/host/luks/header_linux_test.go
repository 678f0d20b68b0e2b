package luks

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadHeader reads the header of a file that cryptsetup has made, which needs no device mapper.
func TestReadHeader(t *testing.T) {
	if _, err := exec.LookPath("cryptsetup"); err != nil {
		t.Skip("needs cryptsetup")
	}
	if _, err := os.Stat("/dev/mapper"); err != nil { // cryptsetup makes it, also in vain.
		t.Cleanup(func() {
			os.Remove("/dev/mapper/control")
			os.Remove("/dev/mapper")
		})
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 2*HeaderSize); err != nil {
		t.Fatal(err)
	}
	if err := Format(t.Context(), path, []byte("sixteen bytes ok")); err != nil {
		t.Fatal(err)
	}
	read := func() Header {
		t.Helper()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		h, found, err := ReadHeader(f)
		if err != nil || !found || h.Data != HeaderSize || len(h.UUID) != 36 {
			t.Fatalf("ReadHeader = %+v, %v, %v", h, found, err)
		}
		return h
	}
	had := read()
	if err := NewUUID(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if has := read(); has.UUID == had.UUID {
		t.Errorf("the UUID is %s still", has.UUID)
	}
}

func TestReadHeaderBad(t *testing.T) {
	header := func(version uint16, size uint64, text string) []byte {
		b := make([]byte, 16<<10)
		copy(b, "LUKS\xba\xbe")
		binary.BigEndian.PutUint16(b[6:], version)
		binary.BigEndian.PutUint64(b[8:], size)
		copy(b[binarySize:], text)
		return b
	}
	for _, row := range []struct {
		b     []byte
		found bool
		want  string
	}{
		{nil, false, ""},
		{[]byte("LUKS"), false, ""},
		{make([]byte, 1<<20), false, ""},
		{header(1, 0, ""), true, "version 1 of LUKS"},
		{header(2, 0, ""), true, "damaged"},
		{header(2, 1<<60, ""), true, "damaged"},
		{header(2, 16<<10, "{"), true, "damaged"},
		{header(2, 16<<10, "{}"), true, "where the data begins"},
		{header(2, 16<<10, `{"segments":{"0":{"offset":"-1"}}}`), true, "where the data begins"},
		{header(2, 1<<20, "{}"), true, "EOF"},
	} {
		_, found, err := ReadHeader(bytes.NewReader(row.b))
		if found != row.found || (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("ReadHeader of %.60q = %v, %v; want %v, %q", row.b, found, err, row.found, row.want)
		}
	}
}
