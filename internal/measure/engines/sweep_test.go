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

// TestSweepSaysWhatStays: for every engine, Sweep reports the leftovers that it removed, and why it could not remove the rest. Otherwise
// containers of a hanging Docker daemon would stay without a word.
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
