package engines

import (
	"context"
	"errors"
	"slices"
	"testing"

	"plimsoll/internal/measure/engine"
)

// A sweeper is an engine that can only sweep.
type sweeper struct {
	engine.Engine
	name string
	left []string
	err  error
}

func (s sweeper) Name() string                            { return s.name }
func (s sweeper) Sweep(context.Context) ([]string, error) { return s.left, s.err }

// TestSweepSaysWhatStays: whatever the engine, a person reads what was removed and why the rest was not. A Docker daemon that hangs or
// is slow holds its containers without a word otherwise.
func TestSweepSaysWhatStays(t *testing.T) {
	for _, name := range []string{"host", "oci", "docker", "vm"} {
		var said []string
		s := Source{Say: func(text string) { said = append(said, text) }}
		s.Sweep(t.Context(), sweeper{name: name, left: []string{"container a"}, err: errors.New("the daemon does not answer in time")})
		want := []string{
			"leftovers of an earlier run with engine " + name + " could not be removed: the daemon does not answer in time",
			"removed the leftovers of an earlier run: container a",
		}
		if !slices.Equal(said, want) {
			t.Errorf("%s: said %q, want %q", name, said, want)
		}
	}
}
