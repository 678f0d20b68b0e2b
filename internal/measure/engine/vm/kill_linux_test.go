package vm

import (
	"path/filepath"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/killtest"
)

// killedLife opens a session with a machine, which boots and is saved, with a folder that it shares and a group around it.
var killedLife = enginetest.Life{
	Name: "vm",
	New: func(state string) (engine.Engine, error) {
		v, err := fakeVMIn(filepath.Dir(state), state)
		if err != nil {
			return nil, err
		}
		v.Limits = LimitsOutside
		return v, v.ownCache()
	},
	Spec: engine.Spec{
		Place: place.Spec{Name: "memory", Kind: place.Tmpfs, Size: 1 << 20}, Source: &place.Spec{Name: "shared", Kind: place.Bind},
		Limits: limit.Limits{Name: "l", CPUs: 1},
	},
}

func init() { killedLife.Register() }

// TestKilled: a process with a machine is killed at each call by which it changes something. The next start ends what still runs, and removes all that
// it has made but the saved machines.
func TestKilled(t *testing.T) {
	enginetest.NeedRoot(t)
	t.Parallel()
	killed := killtest.Test{
		Name:  killedLife.Name,
		Kinds: []string{"vm-session"},
		Calls: []string{"mkdirat", "renameat", "unlinkat", "rmdir"},
		After: func(t *testing.T, dir, at, _ string) { killedLife.After(t, dir, at, "state/cache/vm") },
	}.Run(t)
	if killed < 20 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}
