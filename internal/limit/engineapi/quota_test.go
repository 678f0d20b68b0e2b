package engineapi

import (
	"testing"

	"github.com/moby/moby/api/types/container"
)

// quotas are numbers of CPUs that a float64 has a little too low, with the quota of 100 ms that they are; the last are the ends of what
// is taken.
var quotas = map[float64]int64{0.29: 29000, 0.57: 57000, 1.15: 115_000, 2.3: 230_000, 1.0000001: 100_000, 0.01: 1000, 4096: 409_600_000}

// TestQuota: the quota that is asked of an engine is the nearest one, as in a group's file. It was cut off: 0.29 CPUs became 28999.
func TestQuota(t *testing.T) {
	for cpus, want := range quotas {
		stored := &container.HostConfig{Resources: container.Resources{CPUQuota: 50000}}
		r := dockerUpdate(stored, Resources{CPUs: cpus})
		if r.CPUQuota != want || r.CPUPeriod != 100_000 || r.NanoCPUs != 0 {
			t.Errorf("Docker's quota for %v CPUs is %d of %d, want %d", cpus, r.CPUQuota, r.CPUPeriod, want)
		}
		if r := dockerUpdate(&container.HostConfig{}, Resources{CPUs: cpus}); r.NanoCPUs*100_000/1e9 != want {
			t.Errorf("Docker makes %d of %d NanoCPUs for %v CPUs, want %d", r.NanoCPUs*100_000/1e9, r.NanoCPUs, cpus, want)
		}
		p := podmanResources(stored, Resources{CPUs: cpus}).CPU
		if *p.Quota != want || *p.Period != 100_000 {
			t.Errorf("Podman's quota for %v CPUs is %d of %d, want %d", cpus, *p.Quota, *p.Period, want)
		}
	}
	// A period that would make the quota less than the kernel takes is not kept.
	r := dockerUpdate(&container.HostConfig{Resources: container.Resources{CPUPeriod: 10_000}}, Resources{CPUs: 0.05})
	if r.CPUQuota != 5000 || r.CPUPeriod != 100_000 {
		t.Errorf("quota %d of %d, want 5000 of 100000", r.CPUQuota, r.CPUPeriod)
	}
}

// TestQuotaTaken: what an engine stores of CPUs as a quota is what was asked for. `limit set --cpus 0.29 --keep` of a container with
// --cpu-quota failed: the engine "accepts it, but does not apply it".
func TestQuotaTaken(t *testing.T) {
	for _, has := range []map[string]any{{}, {"CpuQuota": 50000}, {"CpuQuota": 20000, "CpuPeriod": 50000}, {"CpuPeriod": 1_000_000}} {
		for _, cpus := range []float64{0.29, 0.57, 1.15, 2.3, 1.0000001, 0.333333333, 0.01} {
			f := newFake(t, "1.55", "linux")
			for k, v := range has {
				f.host[k] = v
			}
			if o, err := f.open().Set(t.Context(), "web", Resources{CPUs: cpus}); err != nil || !o.Stored {
				t.Errorf("Set(%v CPUs) of %v = %+v, %v", cpus, has, o, err)
			}
		}
	}
	// Another quota is still sent.
	f := newFake(t, "1.55", "linux")
	f.host["CpuQuota"], f.host["CpuPeriod"] = 29001, 100_000
	f.keeps = "CpuQuota"
	if o, err := f.open().Set(t.Context(), "web", Resources{CPUs: 0.29}); err == nil {
		t.Errorf("Set of a daemon that stores another quota = %+v", o)
	}
}
