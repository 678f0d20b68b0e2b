package dd

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLastLineIsCoreutils compares the sizes with those that the real dd prints.
func TestLastLineIsCoreutils(t *testing.T) {
	for _, n := range []int64{1, 2, 511, 999, 1000, 1023, 1024, 1025, 9949, 9950, 9951, 10000, 10239, 10240, 99999, 999499, 999500, 999999, 1000000, 1 << 20, 1048575,
		10<<20 - 1, 10 << 20, 105 << 20, 1023 << 20, 1<<30 - 1, 1 << 30, 3 << 29} {
		cmd := exec.Command("dd", "if=/dev/zero", "of=/dev/null", fmt.Sprintf("bs=%d", min(n, 1<<20)), fmt.Sprintf("count=%dB", n))
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("dd: %v: %s", err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		want, _, _ := strings.Cut(lines[len(lines)-1], " copied,")
		if got, _, _ := strings.Cut(summary(n, time.Second, false), " copied,"); got != want {
			t.Errorf("%d bytes: %q, dd prints %q", n, got, want)
		}
	}
}

// TestRatesAreCoreutils compares the rates of lines of the real dd, from bytes to hundreds of megabytes a second.
func TestRatesAreCoreutils(t *testing.T) {
	last := regexp.MustCompile(`(?m)^(\d+) bytes? .*copied, ([0-9.e-]+) s, .*$`)
	decimals := 0
	compare := func(cmd *exec.Cmd) {
		t.Helper()
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		m := last.FindStringSubmatch(string(out))
		if err != nil || m == nil {
			t.Fatalf("dd: %v: %s", err, out)
		}
		bytes, err := strconv.ParseInt(m[1], 10, 64)
		secs, err2 := strconv.ParseFloat(m[2], 64)
		if err != nil || err2 != nil {
			t.Fatal(m, err, err2)
		}
		if got := summary(bytes, time.Duration(math.Round(secs*1e9)), false); got != m[0] {
			t.Errorf("%q, dd prints %q", got, m[0])
		}
		if regexp.MustCompile(`\d\d\.\d .B/s$`).MatchString(m[0]) {
			decimals++
		}
	}
	for bs := 1; bs <= 4096; bs = bs*3/2 + 1 {
		compare(exec.Command("dd", "if=/dev/zero", "of=/dev/null", fmt.Sprintf("bs=%d", bs), "count=20000"))
	}
	if decimals == 0 {
		t.Error("no rate from 10 to 100 was met")
	}
	for _, n := range []int{1, 30, 4000} { // Some bytes, tens and thousands a second.
		cmd := exec.Command("dd", "of=/dev/null")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(150*time.Millisecond, func() {
			_, _ = in.Write(make([]byte, n))
			in.Close()
		})
		compare(cmd)
	}
}

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		bytes int64
		d     time.Duration
		prog  bool
		want  string
	}{
		{104857600, 51234 * time.Microsecond, false, "104857600 bytes (105 MB, 100 MiB) copied, 0.051234 s, 2.0 GB/s"},
		{512, 100 * time.Microsecond, false, "512 bytes copied, 0.0001 s, 5.1 MB/s"},
		{1 << 30, 12345678901, false, "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 12.3457 s, 87.0 MB/s"},
		{820000000, 18224800001, false, "820000000 bytes (820 MB, 782 MiB) copied, 18.2248 s, 45.0 MB/s"}, // What dd 9.1 printed.
		{153000001, 1000000001, false, "153000001 bytes (153 MB, 146 MiB) copied, 1 s, 153 MB/s"},
		{99960000, 1000000001, false, "99960000 bytes (100 MB, 95 MiB) copied, 1 s, 100 MB/s"},
		{999960000, 1000000001, false, "999960000 bytes (1.0 GB, 954 MiB) copied, 1 s, 1000 MB/s"},
		{1, 300000001, false, "1 byte copied, 0.3 s, 0.0 kB/s"},
		{512, 0, false, "512 bytes copied, 0 s, Infinity B/s"},
		{1 << 30, 3 * time.Second, true, "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 3 s, 358 MB/s"},
	} {
		if got := summary(c.bytes, c.d, c.prog); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
