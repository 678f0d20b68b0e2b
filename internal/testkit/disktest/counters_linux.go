package disktest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Counters are the kernel's counters of a block device. Tests read them here, independently of the code under test
// (Documentation/block/stat.rst).
type Counters struct {
	// Reads, Writes and Flushes count completed requests; Writes includes the flushes.
	Reads, Writes, Flushes int64
	// BytesRead and BytesWritten are their sizes in bytes.
	BytesRead, BytesWritten int64
}

// Count reads the counters of a whole device, /dev/loop0 for example.
func Count(t testing.TB, device string) Counters {
	t.Helper()
	b, err := os.ReadFile("/sys/block/" + filepath.Base(device) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b))
	if len(f) < 17 {
		t.Skip("needs Linux 5.5, which counts flushes")
	}
	var c Counters
	for i, p := range map[int]*int64{0: &c.Reads, 2: &c.BytesRead, 4: &c.Writes, 6: &c.BytesWritten, 15: &c.Flushes} {
		if *p, err = strconv.ParseInt(f[i], 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	// A sector of these counters has 512 bytes on every device.
	c.BytesRead, c.BytesWritten = c.BytesRead*512, c.BytesWritten*512
	return c
}

// Since returns the difference from an earlier count.
func (c Counters) Since(before Counters) Counters {
	return Counters{c.Reads - before.Reads, c.Writes - before.Writes, c.Flushes - before.Flushes, c.BytesRead - before.BytesRead, c.BytesWritten - before.BytesWritten}
}
