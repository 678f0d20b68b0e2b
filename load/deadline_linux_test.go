package load

import (
	"context"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// never is how long a test waits for what would never end.
const never = 20 * time.Second

// pester interrupts the calling thread's system calls until stop is called, more
// often than Go's monitor does.
func pester() (stop func()) {
	pid, tid := unix.Getpid(), unix.Gettid()
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond):
				unix.Tgkill(pid, tid, unix.SIGURG)
			}
		}
	}()
	return func() { close(done); <-gone }
}

// TestWaitEndsInSpiteOfSignals: an engine without completions gives up when its time is over,
// however often a signal ends the system call before.
func TestWaitEndsInSpiteOfSignals(t *testing.T) {
	const wait = 500 * time.Millisecond
	for _, engine := range []string{IOUring, LinuxAIO} {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			path := written(t, 4096)
			type answer struct {
				n    int
				took time.Duration
				err  error
			}
			got := make(chan answer, 1)
			go func() {
				runtime.LockOSThread() // And never unlocked: the thread ends with its ring.
				f, err := openTarget(Job{RW: Read}, path)
				if err != nil {
					got <- answer{err: err}
					return
				}
				defer f.close()
				b := &buffers{mem: make([]byte, 4096), stride: 4096}
				e, err := newAsync(engine, []*target{f}, make([]slot, 4), b)
				if err != nil {
					got <- answer{err: err}
					return
				}
				defer e.close()
				defer pester()()
				begin := time.Now()
				out, err := e.run(nil, 1, wait)
				got <- answer{len(out), time.Since(begin), err}
			}()
			select {
			case a := <-got:
				// Begun anew at each signal it takes twenty times as long, if it ends at all.
				if a.err != nil || a.n != 0 {
					t.Errorf("%d completions, %v; want none", a.n, a.err)
				}
				if a.took < wait*9/10 || a.took > 10*wait {
					t.Errorf("it took %v, want %v", a.took, wait)
				}
			case <-time.After(never):
				t.Errorf("a wait of %v goes on and on", wait)
			}
		})
	}
}

// holding keeps one completion back for a while: a disk that hangs on one I/O and serves the others.
type holding struct {
	asyncEngine
	after, seen int
	hold        time.Duration
	held        []completion
	until       time.Time
	// during counts the I/Os that were begun while it was held.
	during int
	// quiet ends the signals that the thread gets.
	quiet func()
}

func (h *holding) run(batch []uint32, want int, timeout time.Duration) ([]completion, error) {
	if h.quiet == nil {
		h.quiet = pester()
	}
	if h.held != nil {
		h.during += len(batch)
	}
	out, err := h.asyncEngine.run(batch, want, timeout)
	if h.held != nil && time.Now().After(h.until) {
		out, h.held = append(out, h.held...), nil
	}
	for i := range out {
		if h.seen++; h.seen == h.after {
			h.held, h.until = []completion{out[i]}, time.Now().Add(h.hold)
			return append(out[:i], out[i+1:]...), err
		}
	}
	return out, err
}

// TestScheduleGoesOnWhileOneHangs: I/Os that are due further apart than signals come are started
// in time although nothing completes meanwhile.
func TestScheduleGoesOnWhileOneHangs(t *testing.T) {
	for _, engine := range []string{IOUring, LinuxAIO} {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			r, err := Prepare(Job{RW: RandRead, IODepth: 4, RateIOPS: 20, Filename: written(t, 1<<20), Runtime: 2 * time.Second, IOEngine: engine})
			if err != nil {
				t.Fatal(err)
			}
			h := &holding{asyncEngine: r.threads[0].async, after: 5, hold: time.Second}
			r.threads[0].async = h
			done := make(chan error, 1)
			go func() {
				_, err := r.Start(context.Background(), nil)
				done <- err
			}()
			select {
			case err := <-done:
				h.quiet()
				// One each 50 ms is 20; a busy machine starts some of them at once.
				if err != nil || h.during < 5 {
					t.Errorf("%d I/Os were begun while one hung for a second, %v; want 20 or so", h.during, err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			case <-time.After(never):
				t.Fatal("the job never ends: it waits for what hangs")
			}
		})
	}
}

// TestAIOWithoutReadableRing: completions are taken from the kernel also by a call that awaits none.
func TestAIOWithoutReadableRing(t *testing.T) {
	needEngine(t, LinuxAIO)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f, err := openTarget(Job{RW: Read}, written(t, 4096))
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	b, err := newBuffers(Job{RW: Read, BS: 4096}, 1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	slots := []slot{{buf: b.addr(0), size: 4096}}
	a, err := newAIO([]*target{f}, slots)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	a.ring = nil
	// Buffered linux-aio is complete when it is submitted.
	out, err := a.run([]uint32{0}, 0, 0)
	if err != nil || len(out) != 1 || out[0].res != 4096 {
		t.Errorf("run = %v, %v; want the completion", out, err)
	}
}
