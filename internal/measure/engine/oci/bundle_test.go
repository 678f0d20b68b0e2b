package oci

import (
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
)

// TestBundleQuota: the quota in a bundle is the nearest to the CPUs asked for, as in a group's file and in an engine's configuration.
// It was cut off: 0.29 CPUs became 28999 of 100000.
func TestBundleQuota(t *testing.T) {
	for cpus, want := range map[float64]int64{0.29: 29000, 0.57: 57000, 1.15: 115_000, 2.3: 230_000, 1.0000001: 100_000, 0.01: 1000} {
		c := newBundle(t.TempDir(), "", engine.Spec{Limits: limit.Limits{CPUs: cpus}}).resources().CPU
		if *c.Quota != want || *c.Period != 100_000 {
			t.Errorf("%v CPUs are a quota of %d in %d, want %d", cpus, *c.Quota, *c.Period, want)
		}
	}
}
