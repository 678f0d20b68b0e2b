package load

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestHintSaysHowFarToReadAhead: after one read in the middle of a cold file, the cache holds only the data read if the hint is
// random, and more without it.
func TestHintSaysHowFarToReadAhead(t *testing.T) {
	path := written(t, 1<<20)
	cached := func(hint string) int64 {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
		if info, err := Inspect(path, 0, 1<<20); err != nil || info.Resident > 0 {
			t.Skipf("needs a file system whose cache can be dropped: %v of the file is in it, %v", info.Resident, err)
		}
		start(t, Job{RW: Read, BS: 4096, Filename: path, Offset: 0, Size: 1 << 20, NumberIOs: 1, Hint: hint, IOEngine: PSync})
		info, err := Inspect(path, 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return int64(info.Resident * (1 << 20))
	}
	// The kernel takes a read at the beginning of a file for a sequential one.
	plain, random, sequential := cached(""), cached(Random), cached(Sequential)
	if random != 4096 || plain <= random || sequential < plain {
		t.Errorf("%d bytes are cached after a read of 4096 with no hint, %d with random, %d with sequential", plain, random, sequential)
	}
}

// TestLargePages: buffers are of large pages, or the error says how to get them.
func TestLargePages(t *testing.T) {
	r, err := Prepare(Job{RW: RandRW, IODepth: 4, Size: 1 << 20, IOEngine: Null, LargePages: true, Runtime: 10 * time.Millisecond})
	if err != nil {
		if !strings.Contains(err.Error(), "vm.nr_hugepages") {
			t.Error(err)
		}
		return
	}
	defer r.Close()
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil || !strings.Contains(string(maps), "KernelPageSize:     2048 kB") {
		t.Errorf("no mapping has large pages: %v", err)
	}
}
