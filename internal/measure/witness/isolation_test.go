package witness

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/wire"
)

// TestIsolationIsRecorded: how each client's Windows container was kept apart is in the trial's record, as it is stored; a
// container of Linux has no word of it.
func TestIsolationIsRecorded(t *testing.T) {
	var agents []*agent.Agent
	for _, isolation := range []string{"hyperv", "process", ""} {
		info := engine.Info{Container: "c", Daemon: "docker 27.3.1", Isolation: isolation}
		agents = append(agents, &agent.Agent{Session: session{info: info}, Hello: wire.Hello{Kernel: "10.0 20348"}})
	}
	trial := &record.Trial{}
	New(device.FS{Proc: t.TempDir(), Sys: t.TempDir()}).Before(agents, "")(trial)
	b, err := json.Marshal(trial)
	if err != nil {
		t.Fatal(err)
	}
	var stored record.Trial
	if err := json.Unmarshal(b, &stored); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range stored.Where {
		got = append(got, w.Isolation)
	}
	if !slices.Equal(got, []string{"hyperv", "process", ""}) || strings.Count(string(b), `"isolation"`) != 2 {
		t.Errorf("isolation of the clients: %q in %s", got, b)
	}
}
