package load

import (
	"slices"
	"testing"
)

// TestStridedZones: the zones of a job, as fio 3.33 goes through them (zonemode=strided with write_iolog).
func TestStridedZones(t *testing.T) {
	for _, c := range []struct {
		name string
		job  Job
		size int64
		want []int64
	}{
		{"gaps", Job{RW: Read, Zones: &Zones{Size: 4, Skip: 12}}, 32, []int64{0, 1, 2, 3, 16, 17, 18, 19, 0, 1, 2, 3, 16}},
		{"less than a zone", Job{RW: Write, Zones: &Zones{Size: 2, Range: 4, Skip: 12}}, 64, []int64{0, 1, 16, 17, 32, 33, 48, 49, 0, 1}},
		{"a zone twice", Job{RW: Read, Zones: &Zones{Size: 8, Range: 4, Skip: 12}}, 64, []int64{0, 1, 2, 3, 0, 1, 2, 3, 16, 17, 18, 19, 16}},
		{"cut off", Job{RW: Read, Runtime: 1, Zones: &Zones{Size: 4, Skip: 12}}, 18, []int64{0, 1, 2, 3, 16, 17, 16}},
		{"files", Job{RW: Read, Files: []string{"a", "b"}, Zones: &Zones{Size: 4, Skip: 12}}, 32, []int64{0, 0, 1, 1, 16, 2, 17, 3, 0, 0, 1, 1, 16, 2}},
	} {
		z := *c.job.Zones
		c.job.BS, c.job.Zones = 512, &Zones{Size: z.Size * 512, Range: z.Range * 512, Skip: z.Skip * 512}
		got := offsets(drawMany(t, c.job, c.size*512, len(c.want)))
		for i := range got {
			got[i] /= 512
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: blocks %v, want %v", c.name, got, c.want)
		}
	}
	// Random offsets come once in each zone, in another order each time.
	j := Job{RW: RandRead, BS: 512, RandomMap: true, Runtime: 1, Zones: &Zones{Size: 16 * 512, Skip: 48 * 512}}
	all := offsets(drawMany(t, j, 128*512, 64))
	for i := 0; i < len(all); i += 16 {
		zone := slices.Sorted(slices.Values(all[i : i+16]))
		for k, o := range zone {
			if want := int64(i/16%2*64+k) * 512; o != want {
				t.Fatalf("zone %d has block %d at %d, want %d", i/16, o, k, want)
			}
		}
		if slices.IsSorted(all[i : i+16]) {
			t.Errorf("zone %d in its order: %v", i/16, all[i:i+16])
		}
	}
	if slices.Equal(all[:16], all[32:48]) {
		t.Errorf("the same order each time: %v", all[:16])
	}
}
