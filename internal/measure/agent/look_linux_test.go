package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/wire"
)

// TestTimeoutTellsWaits: of a trial that a deadline ends it is said what its processes did, as long as they did it, in which phase
// that was and for how long; of one that ended otherwise it isn't.
func TestTimeoutTellsWaits(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stop  func(pid int) int // which process is stopped, of the agent's number
		lost  bool
		wants string // the beginning of the stopped one's line
	}{
		"the trial":  {trialOf, false, "worker trial (process "},
		"the worker": {func(pid int) int { return pid }, true, "worker agent (process "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := Open(t.Context(), session(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Prepare(t.Context(), "1", long); err != nil {
				t.Fatal(err)
			}
			if err := a.Start("1"); err != nil {
				t.Fatal(err)
			}
			pid := row.stop(a.Info().PID)
			if err := unix.Kill(pid, unix.SIGSTOP); pid <= 0 || err != nil {
				t.Fatalf("stop process %d: %v", pid, err)
			}
			defer unix.Kill(pid, unix.SIGCONT)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err = a.Wait(ctx, "1", nil)
			var te *TrialError
			if !errors.As(err, &te) || errors.Is(err, ErrLost) != row.lost {
				t.Fatalf("Wait() = %v, lost %v", err, errors.Is(err, ErrLost))
			}
			if te.Phase != wire.PhaseRun || te.Since < 200*time.Millisecond {
				t.Errorf("in phase %q for %v, want it to run for 300 ms", te.Phase, te.Since)
			}
			told := false
			for _, line := range te.Waits {
				told = told || strings.HasPrefix(line, row.wants+strconv.Itoa(pid)+"): ") && strings.Contains(line, " stopped")
			}
			if !told || len(te.Waits) != 2 {
				t.Errorf("process %d was stopped; told:\n%s", pid, strings.Join(te.Waits, "\n"))
			}
		})
	}
	a, err := Open(t.Context(), session(t, hello+"read run; while read line; do echo '{\"error\":{\"id\":\"1\",\"phase\":\"prepare\"}}'; done"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var te *TrialError
	if err := a.Prepare(ctx, "1", short); !errors.As(err, &te) || te.Waits != nil || te.Since != 0 {
		t.Errorf("Prepare() = %+v, want nothing told of the worker's waits after an interrupt", te)
	}
}

// trialOf is the trial's process, of an agent's, 0 if there is none.
func trialOf(agent int) int {
	files, _ := filepath.Glob("/proc/" + strconv.Itoa(agent) + "/task/*/children")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(b)) {
			pid, _ := strconv.Atoi(word)
			return pid
		}
	}
	return 0
}
