package load

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refuse makes the kernel answer a system call of the calling thread with EAGAIN from now on, as it does when it has no memory for
// requests. It is a seccomp filter, which ends with the thread.
func refuse(nr uint32) error {
	const load, jump, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{
		{Code: load}, // The number of the call is the first field of struct seccomp_data.
		{Code: jump, K: nr, Jf: 1},
		{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAGAIN)},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&p)), 0, 0)
}

// TestRequestsThatTheKernelRefuses: an endless wait for I/Os that could not be submitted returns, with each I/O once. I/Os that are
// submitted again are done.
func TestRequestsThatTheKernelRefuses(t *testing.T) {
	for engine, nr := range map[string]uint32{IOUring: sysRingEnter, LinuxAIO: unix.SYS_IO_SUBMIT} {
		t.Run(engine, func(t *testing.T) {
			needEngine(t, engine)
			path := written(t, 4<<12)
			answer := make(chan error, 1)
			var out []completion
			go func() {
				runtime.LockOSThread() // It is never unlocked: the filter has to end with the thread.
				answer <- func() error {
					f, err := openTarget(Job{RW: Read}, path)
					if err != nil {
						return err
					}
					defer f.close()
					b := &buffers{mem: make([]byte, 4<<12), stride: 4096}
					slots := make([]slot, 4)
					for i := range slots {
						slots[i] = slot{buf: b.addr(uint32(i)), seg: uint32(i), size: 4096, off: int64(i) << 12}
					}
					e, err := newAsync(engine, []*target{f}, slots, b)
					if err != nil {
						return err
					}
					defer e.close()
					// One I/O is done before, so that the queue has wrapped.
					if got, err := e.run([]uint32{3}, 1, forever); err != nil || len(got) != 1 || got[0].res != 4096 {
						return errors.Join(err, errors.New("the first I/O wasn't done"))
					}
					if err := refuse(nr); err != nil {
						return err
					}
					for range 3 {
						got, err := e.run([]uint32{0, 1, 2}, 1, forever)
						if err != nil {
							return err
						}
						out = append(out, got...)
					}
					return nil
				}()
			}()
			select {
			case err := <-answer:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(never):
				t.Fatal("what the kernel refuses is tried for ever")
			}
			if len(out) != 9 {
				t.Fatalf("%v, want each of three I/Os in three tries", out)
			}
			for i, c := range out {
				if c.slot != uint32(i%3) || c.res != -int32(unix.EAGAIN) {
					t.Errorf("completion %d is %v, want EAGAIN of slot %d", i, c, i%3)
				}
			}
		})
	}
}

// TestRefusedRunEnds: if the kernel refuses all requests, a run ends at its time, and when it is cancelled.
func TestRefusedRunEnds(t *testing.T) {
	for _, engine := range []string{IOUring, LinuxAIO} {
		for name, c := range map[string]struct {
			runtime time.Duration
			stop    bool
		}{"by its time": {100 * time.Millisecond, false}, "when stopped": {time.Hour, true}, "when stopped in a pass": {0, true}} {
			t.Run(engine+" "+name, func(t *testing.T) {
				needEngine(t, engine)
				r := prepare(t, Job{RW: RandWrite, IODepth: 4, Filename: written(t, 1<<20), Runtime: c.runtime, IOEngine: engine})
				spoil(r, func(n int, _ *slot, c *completion) {
					if n > 50 {
						c.res = -int32(unix.EAGAIN)
					}
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.stop {
					time.AfterFunc(200*time.Millisecond, cancel)
				}
				var res *Result
				var err error
				done := make(chan struct{})
				go func() {
					res, err = r.Start(ctx, nil)
					close(done)
				}()
				select {
				case <-done:
				case <-time.After(never):
					t.Fatal("the run goes on and on")
				}
				if c.stop != (err != nil) {
					t.Errorf("Start = %v", err)
				}
				if res == nil || res.Ops() != 50 {
					t.Errorf("it ended with %+v, want 50 I/Os", res)
				}
				if !c.stop && res.InFlight() != 4 {
					t.Errorf("%d I/Os were unfinished, want those in flight", res.InFlight())
				}
			})
		}
	}
}
