package host

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// TestHostRefuses: the host says why it can't have what Windows alone has, limits of a container, and limits where there is no device.
func TestHostRefuses(t *testing.T) {
	dir, tmpfs := place.Spec{Kind: place.Dir}, place.Spec{Kind: place.Tmpfs}
	refusals := map[string]engine.Spec{
		"limit io_maxbandwidth": {Place: dir, Limits: limit.Limits{SystemBPS: 100}},
		"isolation process":     {Place: dir, Isolation: "process"},
		"oci and docker engines limit memory, cpus and cpu_shares": {Place: dir, Limits: limit.Limits{CPUs: 1}},
	}
	if engine.CanUnshare() {
		refusals["the place is memory (tmpfs)"] = engine.Spec{Place: tmpfs, Limits: limit.Limits{Name: "slow", ReadBPS: 1 << 20}}
	}
	for want, spec := range refusals {
		var u *refusal.Error
		if err := (&Engine{}).supports(spec); !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
