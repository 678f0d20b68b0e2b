package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// sparseIn returns a sparse file of 64 MiB on a file system of 8 MiB, without any allocated space.
func sparseIn(t *testing.T) string {
	t.Helper()
	path := filepath.Join(disktest.Tmpfs(t, "size=8m"), "sparse")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 64<<20); err != nil {
		t.Fatal(err)
	}
	return path
}

// A job continues after the errors that it names, does all of its I/Os, and counts the failed ones apart; after other errors it
// ends.
func TestJobGoesOnAfterErrors(t *testing.T) {
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			job := Job{RW: Write, IODepth: 3, Filename: sparseIn(t), IOEngine: engine, WriteErrors: []int{int(syscall.ENOSPC)}}
			res, err := prepare(t, job).Start(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			c := res.Class("write")
			if c.Ops < 1000 || c.Ops > 2048 || c.Ops+c.Failed != 64<<20/4096 {
				t.Errorf("%d writes succeeded and %d failed, want 1000 to 2048, and 16384 in all", c.Ops, c.Failed)
			}
			if c.Bytes != c.Ops*4096 || int64(c.Lat.Count()) != c.Ops {
				t.Errorf("%d writes have %d bytes and %d latencies", c.Ops, c.Bytes, c.Lat.Count())
			}
			if res.FirstError != int(syscall.ENOSPC) {
				t.Errorf("the first error is %d, want ENOSPC", res.FirstError)
			}
			job.Filename, job.WriteErrors, job.ReadErrors = sparseIn(t), []int{int(syscall.EIO)}, []int{int(syscall.ENOSPC)}
			var e *IOError
			if _, err := prepare(t, job).Start(context.Background(), nil); !errors.As(err, &e) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("another error: %v", err)
			}
		})
	}
}

// A job that shall use all space ends without an error when there is none left.
func TestJobFills(t *testing.T) {
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			res, err := prepare(t, Job{RW: Write, IODepth: 3, Filename: sparseIn(t), IOEngine: engine, Fill: true}).Start(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			c := res.Class("write")
			if c.Ops < 1000 || c.Ops > 2048 {
				t.Errorf("%d writes", c.Ops)
			}
			if c.Failed != 0 || c.InFlight != 0 {
				t.Errorf("%d failed, %d in flight", c.Failed, c.InFlight)
			}
		})
	}
}

// A failed write is not read back, whether the job continues or ends: nothing was written.
func TestFailedWritesAreNotReadBack(t *testing.T) {
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			for name, job := range map[string]Job{
				"goes on":                {WriteErrors: []int{int(syscall.ENOSPC)}},
				"goes on with a backlog": {WriteErrors: []int{int(syscall.ENOSPC)}, VerifyBacklog: 8},
				"fills":                  {Fill: true},
			} {
				job.RW, job.IODepth, job.Filename, job.IOEngine, job.Verify, job.KeepWritten = Write, 1, sparseIn(t), engine, true, true
				res, err := prepare(t, job).Start(context.Background(), nil)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				writes := res.Class("write").Ops
				left := writes * 4096
				if c := res.Class("read"); c != nil {
					left -= c.Bytes
				}
				if writes < 1000 || res.Written[0].Bytes() != left {
					t.Errorf("%s: %d bytes are to be read back, want %d", name, res.Written[0].Bytes(), left)
				}
			}
		})
	}
}
