package watch

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plimsoll/internal/host/device"
)

// near compares figures that were divided and multiplied.
var near = cmpopts.EquateApprox(1e-9, 1e-9)

const diskstats = `   7       0 loop0 17691911 13236 151346187 4024434 10152103 897298 109567118 296369 0 344716 4332817 366 0 63136112 1056 44833 10956
 254       0 vda 100 3 2000 400 200 20 80000 900 2 700 1300 5 1 4096 12 9 33
 254       1 vda1 100 3 2000 400 200 20 80000 900 0 700 1300 5 1 4096 12 9 33
 104       0 cciss/c0d0 1 0 8 1 2 0 16 2 -1 3 3
`

func TestParseDisks(t *testing.T) {
	whole := func(name string) bool { return name == "vda" || name == "cciss/c0d0" }
	got, err := parseDisks(diskstats, whole)
	if err != nil {
		t.Fatal(err)
	}
	want := []Disk{
		{Name: "vda", Number: device.Number{Major: 254, Minor: 0}, Read: Requests{100, 3, 2000, 400}, Write: Requests{200, 20, 80000, 900}, Discard: Requests{5, 1, 4096, 12}, Flushes: 9, FlushTicks: 33, Busy: 700, Queued: 1300},
		// A kernel before 4.18, which counts neither discards nor flushes.
		{Name: "cciss/c0d0", Number: device.Number{Major: 104, Minor: 0}, Read: Requests{1, 0, 8, 1}, Write: Requests{2, 0, 16, 2}, Busy: 3, Queued: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"254 0 vda 1 2 3\n", "254 0 vda x 3 2000 400 200 20 80000 900 0 700 1300\n", "254 0 vda -1 3 2000 400 200 20 80000 900 0 700 1300\n"} {
		if got, err := parseDisks(bad, whole); err == nil || !strings.Contains(err.Error(), "/proc/diskstats") {
			t.Errorf("parseDisks(%q) = %v, %v", bad, got, err)
		}
	}
}

// TestDiskSince: each column by hand, for two seconds.
func TestDiskSince(t *testing.T) {
	before := Disk{Name: "vda", Number: device.Number{Major: 254, Minor: 0}, Read: Requests{100, 3, 2000, 400}, Write: Requests{200, 20, 80000, 900}, Discard: Requests{5, 1, 4096, 12}, Flushes: 9, FlushTicks: 33, Busy: 700, Queued: 1300}
	after := before
	after.Read = Requests{140, 13, 2800, 500}
	after.Write = Requests{210, 20, 80160, 905}
	after.Flushes, after.FlushTicks, after.Busy, after.Queued = 11, 39, 1200, 1411
	want := DiskUse{
		Name: "vda", Number: device.Number{Major: 254, Minor: 0}, Active: true,
		ReadsS: 20, ReadKBS: 200, ReadMS: 5, ReadMPC: 20, ReadAw: 2.5, ReadSz: 10,
		WritesS: 5, WriteKBS: 40, WriteAw: 0.5, WriteSz: 8,
		FlushesS: 1, FlushAw: 3, Queue: 0.0555, Util: 25,
		Read: Flow{409600, 40, 204800, 20}, Write: Flow{81920, 10, 40960, 5},
	}
	if diff := cmp.Diff(want, after.since(before, 2), near); diff != "" {
		t.Error(diff)
	}
	if u := before.since(before, 1); u.Active || u.Util != 0 || u.ReadMPC != 0 {
		t.Errorf("an idle disk: %+v", u)
	}
}

// TestDiskCounters: counters that went round, that were corrected, and those of another disk.
func TestDiskCounters(t *testing.T) {
	disk := func(ios, sectors uint64, ticks, busy, queued uint32) Disk {
		return Disk{Name: "sda", Read: Requests{IOs: ios, Sectors: sectors, Ticks: ticks}, Busy: busy, Queued: queued}
	}
	for _, tt := range []struct {
		name                        string
		before, after               Disk
		reads, kbs, aw, util, queue float64
	}{
		{"milliseconds go round", disk(10, 80, math.MaxUint32-99, math.MaxUint32-99, math.MaxUint32-499), disk(20, 160, 100, 400, 500), 10, 40, 20, 50, 1},
		{"corrected by a little", disk(10, 80, 100, 500, 500), disk(20, 160, 300, 499, 498), 10, 40, 20, 0, 0},
		{"another disk of the name", disk(1000, 8000, 9000, 9000, 9000), disk(10, 80, 30, 100, 200), 10, 40, 3, 10, 0.2},
		{"it was not there", Disk{}, disk(10, 80, 30, 100, 200), 10, 40, 3, 10, 0.2},
	} {
		u := tt.after.since(tt.before, 1)
		got := []float64{u.ReadsS, u.ReadKBS, u.ReadAw, u.Util, u.Queue}
		if diff := cmp.Diff([]float64{tt.reads, tt.kbs, tt.aw, tt.util, tt.queue}, got, near); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
