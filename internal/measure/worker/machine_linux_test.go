package worker

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestWithoutSignals: a system call that ends with EINTR at any signal waits to its end, however often its thread is sent one.
func TestWithoutSignals(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sleep := func() error {
		done := make(chan bool)
		defer close(done)
		thread := unix.Gettid()
		go func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					unix.Tgkill(unix.Getpid(), thread, unix.SIGURG)
				}
			}
		}()
		return unix.Nanosleep(&unix.Timespec{Nsec: 1e8}, nil)
	}
	if err := withoutSignals(sleep); err != nil {
		t.Errorf("with signals held back: %v", err)
	}
	if err := sleep(); err != unix.EINTR {
		t.Errorf("the same without: %v, want %v, or this test shows nothing", err, unix.EINTR)
	}
}
