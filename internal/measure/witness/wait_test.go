package witness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
)

// TestWaits: one of two virtual machines waited for CPUs, in two threads. A worker outside of a machine did not, nor did one
// without counters.
func TestWaits(t *testing.T) {
	root := t.TempDir()
	write := func(pid, thread int, wait int64) {
		t.Helper()
		dir := filepath.Join(root, fmt.Sprintf("proc/%d/task/%d", pid, thread))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "schedstat"), fmt.Appendf(nil, "9000000 %d 40\n", wait), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, pid := range []int{10, 11, 12} {
		write(pid, pid, 1000)
		write(pid, pid+100, 5000)
	}
	var agents []*agent.Agent
	for _, i := range []engine.Info{{PID: 10, Guest: true}, {PID: 11, Guest: true}, {PID: 12}, {PID: 13, Guest: true}} {
		agents = append(agents, &agent.Agent{Session: session{info: i}, Hello: wire.Hello{CPUs: 2}})
	}
	after := New(device.FS{Proc: filepath.Join(root, "proc")}).Before(agents, "")
	const hour = 3600e9 // More than the time of the test: all of it.
	for _, pid := range []int{10, 12} {
		write(pid, pid, 1000+hour)
		write(pid, pid+100, 5000+hour)
	}
	trial := &record.Trial{Results: make([]workload.Result, len(agents))}
	after(trial)
	for i, want := range []float64{1, 0, 0, 0} {
		if got := trial.Results[i].Host.CPUWait; got != want {
			t.Errorf("client %d: CPUWait = %v, want %v", i+1, got, want)
		}
	}
}
