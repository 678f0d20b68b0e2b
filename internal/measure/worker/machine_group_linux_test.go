package worker

import "testing"

// TestCPUMax: a number of CPUs is in a guest the quota that it is anywhere else, where 0.29 are not 28999.
func TestCPUMax(t *testing.T) {
	for cpus, want := range map[float64]string{0.29: "29000 100000", 0.57: "57000 100000", 0.5: "50000 100000", 2: "200000 100000", 0.01: "1000 100000"} {
		if got := cpuMax(cpus); got != want {
			t.Errorf("cpuMax(%v) = %q, want %q", cpus, got, want)
		}
	}
}
