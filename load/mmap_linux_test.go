package load

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestMMap: a mapping reads and writes the same data as the other engines, in files that are large enough.
func TestMMap(t *testing.T) {
	path := written(t, 1<<20)
	res := start(t, Job{RW: RandRW, BS: 4096, IODepth: 3, NumJobs: 2, Filename: path, NumberIOs: 500, Hint: Random, IOEngine: MMap, Sync: "dsync"})
	if res.Ops() != 1000 || res.Engine != MMap || res.Class("write").Lat.Count() == 0 {
		t.Errorf("%d I/Os by %s", res.Ops(), res.Engine)
	}
	// Written blocks begin with their offset; Verify reads the stamped ones.
	start(t, Job{RW: Write, BS: 8192, Offset: 4096, Size: 512 << 10, Filename: path, IOEngine: MMap, Verify: true, RandSeed: 7, EndFsync: true})
	start(t, Job{RW: Read, BS: 8192, Offset: 4096, Size: 512 << 10, Filename: path, IOEngine: PSync, Verify: true, RandSeed: 7})
	start(t, Job{RW: Read, BS: 8192, Offset: 4096, Size: 512 << 10, Filename: path, IOEngine: MMap, Verify: true, RandSeed: 7})
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{RW: Write, Filename: path, Size: 2 << 20, IOEngine: MMap}, "can't lengthen it"},
		{Job{RW: Read, Filename: path, Direct: true, IOEngine: MMap}, "contradicts ioengine=mmap"},
	} {
		if r, err := Prepare(c.job); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.job, err, c.want)
			if err == nil {
				r.Close()
			}
		}
	}
}

// TestMMapOfAFileThatWasCut: a signal of the kernel becomes an error of the I/O.
func TestMMapOfAFileThatWasCut(t *testing.T) {
	path := written(t, 1<<20)
	r := prepare(t, Job{RW: Read, BS: 4096, Filename: path, Size: 1 << 20, IOEngine: MMap})
	if err := os.Truncate(path, 512<<10); err != nil {
		t.Fatal(err)
	}
	_, err := r.Start(t.Context(), nil)
	var bad *IOError
	if !errors.As(err, &bad) || !errors.Is(err, syscall.EIO) || bad.Offset != 512<<10 {
		t.Errorf("%v, want an error at %d", err, 512<<10)
	}
}

// TestMMapHidesNoBug: a panic that is not the mapping's fault is not reported as the disk's.
func TestMMapHidesNoBug(t *testing.T) {
	f, err := openTarget(Job{RW: Read, Size: 1 << 20, IOEngine: MMap}, written(t, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	buf := make([]byte, 4096)
	s := slot{size: 4096, off: 1 << 20, buf: uintptr(unsafe.Pointer(&buf[0]))}
	defer func() {
		if recover() == nil {
			t.Error("a slot beyond the end is an error of the disk")
		}
	}()
	f.copy(&s)
}

// TestMMapIsNeverChosen: it is not stronger than other engines, and slower to fail.
func TestMMapIsNeverChosen(t *testing.T) {
	if res := start(t, Job{RW: RandRead, Filename: written(t, 1<<20), Runtime: 10 * time.Millisecond}); res.Engine == MMap {
		t.Error("mmap was chosen")
	}
	for _, p := range ProbeEngines(t.TempDir()) {
		if p.Engine == MMap {
			t.Error("mmap is among the engines to choose from")
		}
	}
}
