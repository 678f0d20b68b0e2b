package keeper

import (
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
)

// TestNoCeiling: where a percentage is of nothing that is known, the fault says what has to be measured, and by which command.
func TestNoCeiling(t *testing.T) {
	_, err := resolve(limit.Ask{Percent: map[limit.Key]float64{limit.WriteBPS: 25}}, limit.WriteBPS, explain.Spot{Name: "vda"}, nil)
	if want := "run a plan with a place on vda and direct I/O"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("resolve() = %v, want %q", err, want)
	}
}
