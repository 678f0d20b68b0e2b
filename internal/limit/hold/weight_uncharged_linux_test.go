package hold

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/weight"
	"plimsoll/internal/text/refusal"
)

// TestWeightUncharged: limit set refuses a weight on a disk whose I/O is charged to no group, as a trial does, and enables nothing. It set one that
// had no effect. A disk that some place's I/O is charged on has a weight.
func TestWeightUncharged(t *testing.T) {
	k, _ := newStuck(t)
	data := k.scope.Places[0].Explanation
	data.Weights = []explain.Weight{{Name: "vda", Number: device.Number{Major: 254}, Charge: explain.Leaks}}
	_, trial := k.Try(t.Context(), k.state, Request{Scope: k.scope, Limits: limit.Limits{Weight: 300}})
	for name, err := range map[string]error{"limit set": k.set(t.Context(), limit.Limits{Weight: 300}), "a trial": trial} {
		if !errors.Is(err, refusal.ErrRefused) {
			t.Fatalf("%s: %v, want a refusal", name, err)
		}
		if want := "a weight on vda: no group is charged for the I/O there; limit rates"; err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	data.Weights[0].By, data.Weights[0].Why = weight.ByBFQ, "threads write it"
	if err := k.scope.Weight(); err == nil || !strings.Contains(err.Error(), "charged for the I/O there: threads write it") {
		t.Errorf("Weight() = %v, want the reason", err)
	}
	k.untouched(t, "the refusals")
	k.scope.Places = append(k.scope.Places, Place{Name: "/var", Explanation: &explain.Explanation{Weights: []explain.Weight{{Name: "vda", Number: device.Number{Major: 254}, Charge: explain.Covered}}}})
	if err := k.scope.Weight(); err != nil {
		t.Errorf("Weight() = %v where some of the I/O is charged", err)
	}
}
