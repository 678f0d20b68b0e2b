package eintr

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRetry: a waiting call is repeated until no signal interrupts it, and the result is that of the last call.
func TestRetry(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	over := make(chan struct{})
	defer close(over)
	thread := unix.Gettid()
	go func() {
		for range 20 {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				unix.Tgkill(unix.Getpid(), thread, unix.SIGURG)
			}
		}
	}()
	calls := 0
	got, err := Value(func() (int, error) {
		calls++
		return calls, unix.Nanosleep(&unix.Timespec{Nsec: 1e8}, nil)
	})
	if err != nil || got != calls || calls < 2 {
		t.Errorf("Value() = %d, %v after %d calls, want more than one, and no error", got, err, calls)
	}
	if err := Retry(func() error { return unix.ENOENT }); err != unix.ENOENT {
		t.Errorf("Retry() = %v, want %v", err, unix.ENOENT)
	}
}
