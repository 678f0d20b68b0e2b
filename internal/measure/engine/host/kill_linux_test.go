package host_test

import (
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/killtest"
)

// killedLife opens a session with two folders and a group. Its worker only waits for the end of its input.
var killedLife = enginetest.Life{
	Name: "host",
	New: func(state string) (engine.Engine, error) {
		return host.New(state, func(string, string) ([]byte, error) { return []byte("#!/bin/sh\nread -r end\n"), nil }), nil
	},
	Spec: engine.Spec{
		Place: place.Spec{Name: "data", Kind: place.Dir}, Source: &place.Spec{Name: "sources", Kind: place.Dir},
		Limits: limit.Limits{WriteBPS: 1 << 30},
	},
}

func init() { killedLife.Register() }

// TestKilled: a process with a session is killed at each call by which it changes something. The next start finds all that it has made, and removes it.
func TestKilled(t *testing.T) {
	enginetest.NeedRoot(t)
	t.Parallel()
	killed := killtest.Test{
		Name:  killedLife.Name,
		Kinds: []string{"host-session"},
		Calls: []string{"mkdirat", "renameat", "write", "unlinkat", "rmdir"},
		After: func(t *testing.T, dir, at, _ string) { killedLife.After(t, dir, at, "state/cache/worker-") },
	}.Run(t)
	if killed < 20 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}
