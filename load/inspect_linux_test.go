package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

func TestInspectAndRefusalOfUnwritten(t *testing.T) {
	for name, dir := range map[string]string{"disk": t.TempDir(), "tmpfs": disktest.Tmpfs(t, "size=8m")} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "f")
			if _, err := Layout(context.Background(), path, 1<<20, LayoutOptions{}); err != nil {
				t.Fatal(err)
			}
			info, err := Inspect(path, 0, 0)
			if err != nil || info.Size != 1<<20 || info.HoleBytes != 0 {
				t.Errorf("laid out: %+v, %v", info, err)
			}
			wantFilled(t, info)
			if err := os.Truncate(path, 2<<20); err != nil {
				t.Fatal(err)
			}
			info, err = Inspect(path, 512<<10, 1<<20)
			if err != nil || info.HoleBytes != 512<<10 {
				t.Errorf("half a hole: %+v, %v", info, err)
			}
			for _, rw := range []string{Read, RandRead, RW, RandRW} {
				var u *UnwrittenError
				if _, err := Prepare(Job{RW: rw, Filename: path, IOEngine: PSync}); !errors.As(err, &u) || u.Holes != 1<<20 {
					t.Errorf("rw=%s over a hole: %v", rw, err)
				}
			}
			for _, j := range []Job{{RW: Write}, {RW: Read, Size: 1 << 20}} {
				j.Filename, j.IOEngine = path, PSync
				start(t, j)
			}
		})
	}
}

func TestPreallocatedIsUnwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, 1<<20); err != nil {
		t.Skipf("needs a file system with fallocate: %v", err)
	}
	info, err := Inspect(path, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if info.Extents < 0 {
		t.Skip("needs a file system with FIEMAP")
	}
	if info.Unwritten < 1 || info.UnwrittenBytes != 1<<20 {
		t.Errorf("preallocated: %+v", info)
	}
	var u *UnwrittenError
	if _, err := Prepare(Job{RW: Read, Filename: path, IOEngine: PSync}); !errors.As(err, &u) || u.Unwritten != 1<<20 {
		t.Errorf("read of preallocated: %v", err)
	}
	// Written but dirty counts as written: Prepare settles it.
	if _, err := io.CopyN(f, bytes.NewReader(make([]byte, 1<<20)), 1<<20); err != nil {
		t.Fatal(err)
	}
	start(t, Job{RW: Read, Filename: path, IOEngine: PSync})
}

func TestInspectResident(t *testing.T) {
	path := written(t, 1<<20)
	if _, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	info, err := Inspect(path, 4096+1, 100000)
	if err != nil || info.Resident != 1 {
		t.Errorf("after a read: %+v, %v", info, err)
	}
	for _, bad := range [][2]int64{{-1, 0}, {0, -1}} {
		if _, err := Inspect(path, bad[0], bad[1]); err == nil {
			t.Errorf("Inspect(%v) was accepted", bad)
		}
	}
	if info, err := Inspect(path, 1<<30, 0); err != nil || info.Extents > 0 {
		t.Errorf("beyond the end: %+v, %v", info, err)
	}
	if _, err := Inspect(path+"x", 0, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}
