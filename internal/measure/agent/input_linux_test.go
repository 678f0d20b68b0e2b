package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestInputHoldsNoThread: no thread of a worker, or of a trial that waits for its start, is in a system call that reads its input: a
// stop of the world may overlook one that enters it just then, and wait for it for a minute (see worker.Input).
func TestInputHoldsNoThread(t *testing.T) {
	a, err := Open(t.Context(), session(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Prepare(t.Context(), "1", short); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // Both have come to where they wait.
	for _, pid := range []int{a.Info().PID, trialOf(a.Info().PID)} {
		calls, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/syscall")
		if err != nil || len(calls) == 0 {
			t.Fatalf("no threads of process %d: %v", pid, err)
		}
		for _, file := range calls {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			// proc(5): the number of the call, then its arguments; read is 0 on amd64 and 63 on arm64, and its first argument the file.
			call := strings.Join(strings.Fields(string(b)), " ") + " "
			if strings.HasPrefix(call, "0 0x0 ") || strings.HasPrefix(call, "63 0x0 ") {
				t.Errorf("%s: a thread waits in a read of its input", file)
			}
		}
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Wait(t.Context(), "1", nil); err != nil {
		t.Error(err)
	}
}
