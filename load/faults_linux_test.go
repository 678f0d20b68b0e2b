package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/hist"
	"plimsoll/internal/testkit/disktest"
)

// faulty wraps a thread's engine and spoils its completions.
type faulty struct {
	asyncEngine
	bs    int32
	n     int
	slots []slot
	spoil func(n int, s *slot, c *completion)
}

func (f *faulty) run(batch []uint32, want int, timeout time.Duration) ([]completion, error) {
	out, err := f.asyncEngine.run(batch, want, timeout)
	for i := range out {
		f.n++
		f.spoil(f.n, &f.slots[out[i].slot], &out[i])
	}
	return out, err
}

// spoil wraps the engine of each thread of r, which isn't started yet.
func spoil(r *Run, how func(n int, s *slot, c *completion)) {
	for _, t := range r.threads {
		t.async = &faulty{asyncEngine: t.async, bs: int32(r.job.BS), slots: t.slots, spoil: how}
	}
}

func TestInterruptedAndShortTransfersGoOn(t *testing.T) {
	for _, engine := range []string{IOUring, LinuxAIO} {
		for _, direct := range []bool{false, true} {
			t.Run(engine, func(t *testing.T) {
				needEngine(t, engine)
				const bs, blocks = 8192, 500
				path := zeros(t, t.TempDir(), bs*blocks)
				r := prepare(t, Job{RW: RandWrite, BS: bs, IODepth: 6, Filename: path, IOEngine: engine, Direct: direct})
				tries := 0
				spoil(r, func(n int, s *slot, c *completion) {
					tries++
					switch {
					case n%5 == 0:
						c.res = -int32(unix.EINTR)
					case n%7 == 0:
						c.res = -int32(unix.EAGAIN)
					case n%11 == 0:
						c.res = -int32(unix.ECANCELED)
					case n%3 == 0 && c.res > 2048:
						c.res = 1536 // a short transfer that ends in the middle of a page
					}
				})
				res, err := r.Start(context.Background(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if res.Ops() != blocks || tries <= blocks {
					t.Errorf("%d I/Os in %d tries, want %d in more", res.Ops(), tries, blocks)
				}
				for i, off := range stamps(t, path, bs) {
					if off != int64(i)*bs {
						t.Fatalf("block %d is stamped %d", i, off)
					}
				}
			})
		}
	}
}

func TestFailedIOCarriesWhereAndWhat(t *testing.T) {
	for _, engine := range []string{IOUring, LinuxAIO} {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			path := written(t, 1<<20)
			r := prepare(t, Job{RW: Read, IODepth: 4, NumJobs: 2, Filename: path, Runtime: time.Hour, IOEngine: engine})
			var bad int64
			hit := false
			spoil(r, func(n int, s *slot, c *completion) {
				if n == 1000 && !hit && s.off < 512<<10 { // the first thread's slice
					hit, bad = true, s.off
					c.res = -int32(unix.EIO)
				}
			})
			// The other thread must not touch the function's shared variables.
			r.threads[1].async = r.threads[1].async.(*faulty).asyncEngine
			res, err := r.Start(context.Background(), nil)
			var e *IOError
			if !errors.As(err, &e) || !errors.Is(err, syscall.EIO) {
				t.Fatalf("error = %#v, want an *IOError that is EIO", err)
			}
			if e.Op != "read" || e.Path != path {
				t.Errorf("a %s of %s failed, want a read of %s", e.Op, e.Path, path)
			}
			if e.Offset != bad || e.Size != 4096 {
				t.Errorf("%d bytes at %d failed, want 4096 at %d", e.Size, e.Offset, bad)
			}
			if res.Class("read").Ops < 900 || res.Elapsed > time.Minute {
				t.Errorf("partial result: %d reads in %v", res.Ops(), res.Elapsed)
			}
		})
	}
}

func TestFileTruncatedUnderTheJob(t *testing.T) {
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			path := written(t, 4<<20)
			r := prepare(t, Job{RW: RandRead, IODepth: 2, Filename: path, RampTime: 20 * time.Millisecond, Runtime: time.Hour, IOEngine: engine})
			go func() {
				for r.clk.now() < int64(200*time.Millisecond) {
					time.Sleep(time.Millisecond)
				}
				os.Truncate(path, 1<<20)
			}()
			res, err := r.Start(context.Background(), nil)
			var e *IOError
			if !errors.As(err, &e) || !errors.Is(err, io.ErrUnexpectedEOF) || e.Offset < 1<<20 {
				t.Errorf("error = %v, want an unexpected end after 1 MiB", err)
			}
			if res == nil || res.Elapsed > time.Minute || len(res.Samples) == 0 {
				t.Errorf("partial result = %+v", res)
			}
		})
	}
}

func TestNoSpaceUnderTheJob(t *testing.T) {
	for _, engine := range realEngines() {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			dir := disktest.Tmpfs(t, "size=8m")
			path := filepath.Join(dir, "sparse")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, 64<<20); err != nil {
				t.Fatal(err)
			}
			res, err := prepare(t, Job{RW: Write, IODepth: 3, Filename: path, IOEngine: engine}).Start(context.Background(), nil)
			var e *IOError
			if !errors.As(err, &e) || !errors.Is(err, syscall.ENOSPC) || e.Op != "write" {
				t.Errorf("error = %v, want ENOSPC", err)
			}
			if n := res.Class("write").Ops; n < 1000 || n > 2048 {
				t.Errorf("%d writes before the end of 8 MiB", n)
			}
		})
	}
}

func TestDirectRefused(t *testing.T) {
	// A regular file whose file system has no direct I/O on any kernel.
	_, err := Prepare(Job{RW: Read, Filename: "/proc/version", Direct: true, IOEngine: PSync})
	var e *DirectError
	if !errors.As(err, &e) || e.Path != "/proc/version" || !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Prepare = %v, want a *DirectError", err)
	}
}

func TestStallShowsInResponseTimes(t *testing.T) {
	for _, engine := range []string{IOUring, LinuxAIO} {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			path := written(t, 1<<20)
			r := prepare(t, Job{RW: RandRead, IODepth: 8, RateIOPS: 1000, Filename: path, Runtime: time.Second, IOEngine: engine})
			spoil(r, func(n int, _ *slot, _ *completion) {
				if n == 100 {
					time.Sleep(400 * time.Millisecond)
				}
			})
			res, err := r.Start(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			// 400 I/Os came due in the stall. Those of its first 300 ms waited 100 ms and more, but only those in flight had a long
			// service time.
			c := res.Class("read")
			waited, served := 0, 0
			bucket := hist.Index(100e6)
			for i, n := range c.Response.All() {
				if i > bucket {
					waited += int(n)
				}
			}
			for i, n := range c.Lat.All() {
				if i > bucket {
					served += int(n)
				}
			}
			if n := waited + int(res.Missed); n < 250 {
				t.Errorf("%d waited 100 ms or were missed", n)
			}
			if served > waited/2 {
				t.Errorf("%d waited 100 ms, %d were served so long", waited, served)
			}
			if res.Late+res.Missed < 300 {
				t.Errorf("%d late, %d missed", res.Late, res.Missed)
			}
			if res.MaxLate < 300*time.Millisecond {
				t.Errorf("late by at most %v", res.MaxLate)
			}
		})
	}
}

// broken is an engine that returns only an error.
type broken struct{ asyncEngine }

func (broken) run([]uint32, int, time.Duration) ([]completion, error) { return nil, syscall.EBADF }

// TestBrokenEngineNamesAFile: the error names a file, also if the job has several.
func TestBrokenEngineNamesAFile(t *testing.T) {
	needEngine(t, IOUring)
	files := []string{written(t, 1<<20), written(t, 1<<20)}
	r := prepare(t, Job{RW: RandRead, Files: files, Size: 1 << 20, NumberIOs: 1, IOEngine: IOUring})
	r.threads[0].async = broken{r.threads[0].async}
	_, err := r.Start(t.Context(), nil)
	var e *IOError
	if !errors.As(err, &e) || !errors.Is(err, syscall.EBADF) {
		t.Fatalf("Start = %v, want the engine's error", err)
	}
	if e.Path != files[0] || e.Op != IOUring {
		t.Errorf("Start = %v, want an error of %s at %s", err, IOUring, files[0])
	}
}

// TestLatenessIsOfTheWindow: late I/Os of the ramp do not count in the window.
func TestLatenessIsOfTheWindow(t *testing.T) {
	needEngine(t, IOUring)
	path := written(t, 1<<20)
	r := prepare(t, Job{RW: RandRead, IODepth: 8, RateIOPS: 1000, Filename: path, RampTime: 500 * time.Millisecond, Runtime: 50 * time.Millisecond, IOEngine: IOUring})
	spoil(r, func(n int, _ *slot, _ *completion) {
		if n == 1 {
			time.Sleep(300 * time.Millisecond)
		}
	})
	res, err := r.Start(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Ops() + res.InFlight(); res.Late > n {
		t.Errorf("%d I/Os were late of the %d that the window had: those of the ramp must not count", res.Late, n)
	}
}

// TestTooManyFiles: a job with more files than this process may have open names the limit.
func TestTooManyFiles(t *testing.T) {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	j := Job{RW: RandRead, BS: 4096, Size: 4096, IOEngine: PSync}
	for i := range 300 {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		j.Files = append(j.Files, path)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 200, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &before)
	_, err := Prepare(j)
	if want := "too many open files: a process may have 200 here (RLIMIT_NOFILE)"; !errors.Is(err, unix.EMFILE) || !strings.Contains(err.Error(), want) {
		t.Errorf("300 files where 200 may be open: %v, want %q", err, want)
	}
}
