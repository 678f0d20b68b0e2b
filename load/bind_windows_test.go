package load

import (
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/windows"
)

// TestWindowsBindsThreads: threads run on the job's processors, and a processor that doesn't exist is refused.
func TestWindowsBindsThreads(t *testing.T) {
	cpus, err := allowedCPUs()
	if err != nil || len(cpus) == 0 {
		t.Fatalf("processors %v: %v", cpus, err)
	}
	last := cpus[len(cpus)-1]
	done := make(chan error)
	for n := range 2 {
		go func() {
			runtime.LockOSThread() // and the thread ends with the function
			_, err := bindThread(Job{CPUs: cpus, SplitCPUs: true, SplitFrom: len(cpus) - 1 - n}, n)
			// A second call returns the mask that the first one set.
			before, _, _ := setThreadAffinityMask.Call(uintptr(windows.CurrentThread()), 1<<last)
			if before != 1<<last {
				err = errors.Join(err, errors.New("the thread was not bound"))
			}
			done <- err
		}()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	var opt *OptionError
	if _, err := bindThread(Job{CPUs: []int{100}}, 0); !errors.As(err, &opt) {
		t.Errorf("processor 100: %v", err)
	}
}
