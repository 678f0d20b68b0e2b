package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// scratchFile is written, and removed as Wine 8 can: it has no FileDispositionInformationEx, by which
// os.RemoveAll empties folders.
func scratchFile(t *testing.T) string {
	path := written(t, 1<<20)
	t.Cleanup(func() {
		if err := errors.Join(os.Remove(path), os.Remove(filepath.Dir(path))); err != nil {
			t.Error(err)
		}
	})
	return path
}

// TestIOCP: what overlapped I/O writes is there, with and without buffers, at every depth.
func TestIOCP(t *testing.T) {
	for _, direct := range []bool{false, true} {
		for _, depth := range []int{1, 7, 32} {
			path := scratchFile(t)
			j := Job{RW: RandWrite, BS: 4096, IODepth: depth, NumJobs: 2, Filename: path, Direct: direct, Sync: "dsync", IOEngine: WindowsIOCP, Verify: true}
			res := start(t, j)
			if res.Engine != WindowsIOCP || res.Ops() != 256 || res.Classes[0].Lat.Count() != 256 {
				t.Errorf("direct=%v, depth %d: %d writes by %s", direct, depth, res.Ops(), res.Engine)
			}
			for i, off := range stamps(t, path, 4096) {
				if off != int64(i)*4096 {
					t.Fatalf("block %d holds the stamp of %d", i, off)
				}
			}
			j.RW, j.Verify = RandRead, false
			if res := start(t, j); res.Ops() != 256 || res.Classes[0].Bytes != 1<<20 {
				t.Errorf("direct=%v, depth %d: %d reads", direct, depth, res.Ops())
			}
		}
	}
}

func TestIOCPEnds(t *testing.T) {
	path := scratchFile(t)
	res := start(t, Job{RW: RandRead, BS: 4096, IODepth: 8, Filename: path, RateIOPS: 500, Runtime: 300 * time.Millisecond, IOEngine: WindowsIOCP})
	if n := res.Ops(); n < 50 || n > 160 {
		t.Errorf("%d I/Os of 500 a second in 300 ms", n)
	}
	r := prepare(t, Job{RW: Read, BS: 4096, Filename: path, Runtime: time.Hour})
	if r.Job().IOEngine != WindowsIOCP {
		t.Errorf("the strongest is %s", r.Job().IOEngine)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Start(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run that was broken off: %v", err)
	}
	var e *EngineError
	if _, err := Prepare(Job{RW: Read, Filename: path, IOEngine: IOUring, Runtime: 1}); !errors.As(err, &e) {
		t.Errorf("io_uring on Windows: %v", err)
	}
}
