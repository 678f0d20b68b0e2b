package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// scratchFile makes a file, and removes it in a way that Wine 8 supports: it has no FileDispositionInformationEx, with which
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

// TestIOCP: data written with overlapped I/O is in the file, with and without buffers, at every depth.
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

// TestIOCPEnds: a run ends at its time and keeps its rate until then, however slow the machine is. If it is cancelled, it ends with
// the results so far.
func TestIOCPEnds(t *testing.T) {
	path := scratchFile(t)
	const rate, runtime = 500, 300 * time.Millisecond
	res := start(t, Job{RW: RandRead, BS: 4096, IODepth: 8, Filename: path, RateIOPS: rate, Runtime: runtime, IOEngine: WindowsIOCP})
	// One I/O is due at once, and those in flight at the end are in no class. Without the rate they are thousands.
	if n, most := res.Ops(), int64(rate*res.Elapsed.Seconds())+1; n == 0 || n > most || res.Elapsed < runtime {
		t.Errorf("%d I/Os in %v, want one to %d in %v or more", n, res.Elapsed, most, runtime)
	}
	r := prepare(t, Job{RW: Read, BS: 4096, Filename: path, Runtime: time.Hour, SampleEvery: 10 * time.Millisecond})
	if r.Job().IOEngine != WindowsIOCP {
		t.Errorf("the strongest is %s", r.Job().IOEngine)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var seen int64
	res, err := r.Start(ctx, func(s Sample) {
		if seen += s.Ops; seen > 0 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || res == nil || res.Ops() < seen {
		t.Errorf("a run that was broken off after %d I/Os: %+v, %v", seen, res, err)
	}
	var e *EngineError
	if _, err := Prepare(Job{RW: Read, Filename: path, IOEngine: IOUring, Runtime: 1}); !errors.As(err, &e) {
		t.Errorf("io_uring on Windows: %v", err)
	}
}
