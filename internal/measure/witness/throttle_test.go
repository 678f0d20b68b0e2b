package witness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
)

// A session is a worker that has only its Info.
type session struct {
	engine.Session
	info engine.Info
}

func (s session) Info() engine.Info { return s.info }

// TestThrottledFromOutside: clients 1 and 2 run in a group with a CPU quota, client 3 in the root
// group. The first worker has seen its stops itself.
func TestThrottledFromOutside(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:32 / "+root+"/cg rw - cgroup2 cgroup2 rw\n")
	write("cg/cgroup.controllers", "cpu io memory\n")
	for pid, group := range map[int]string{10: "/unit", 11: "/unit", 12: "/"} {
		write(fmt.Sprintf("proc/%d/cgroup", pid), "0::"+group+"\n")
	}
	write("cg/unit/cpu.max", "50000 100000\n")
	write("cg/unit/cpu.stat", "nr_periods 10\nnr_throttled 2\nthrottled_usec 1500\n")
	write("cg/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n")
	var agents []*agent.Agent
	for _, pid := range []int{10, 11, 12} {
		agents = append(agents, &agent.Agent{Session: session{info: engine.Info{PID: pid}}, Hello: wire.Hello{Kernel: "6.1"}})
	}

	after := New(device.FS{Proc: filepath.Join(root, "proc")}).Before(agents, "")
	write("cg/unit/cpu.stat", "nr_periods 20\nnr_throttled 7\nthrottled_usec 4500\n")
	own := workload.Throttled{Periods: 3, Time: time.Millisecond}
	trial := &record.Trial{Results: []workload.Result{{Throttled: own}, {}, {}}}
	after(trial)
	var got []workload.Throttled
	for _, r := range trial.Results {
		got = append(got, r.Throttled)
	}
	unit := []workload.ThrottledGroup{{Group: "/unit", CPUs: 0.5, Periods: 5, Time: 3 * time.Millisecond}}
	want := []workload.Throttled{{Periods: 3, Time: time.Millisecond, Groups: unit}, {Periods: 5, Time: 3 * time.Millisecond, Groups: unit}, {}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("throttled (-want +got):\n%s", d)
	}
	if len(trial.Where) != 3 || len(trial.Truth) != 3 {
		t.Errorf("%d places, %d truths of 3 clients", len(trial.Where), len(trial.Truth))
	}

	// A trial that failed has no results to fill.
	failed := &record.Trial{}
	after(failed)
	if len(failed.Where) != 3 || failed.Truth != nil {
		t.Errorf("failed trial: %d places, %d truths", len(failed.Where), len(failed.Truth))
	}
}
