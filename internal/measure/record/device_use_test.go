package record_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

func window(d time.Duration) workload.Result { return workload.Result{Elapsed: d} }

// on is what a client stands on: a disk of a machine.
func on(host, disk string, minor uint32) record.Where {
	return record.Where{Host: host, FSType: "ext4", Device: &device.Device{Name: disk, Number: device.Number{Major: 8, Minor: minor}}}
}

func TestDeviceUses(t *testing.T) {
	a, b, far := on("", "sda", 0), on("", "sdb", 16), on("node2", "sda", 0)
	one := record.Truth{AppRead: 10, ProcRead: 10, CgroupRead: 4, CgroupWritten: -1, Device: "sda", DeviceRead: 30, DeviceWritten: 1, DeviceBusy: 5}
	two := record.Truth{AppRead: 20, ProcRead: -1, CgroupRead: 4, CgroupWritten: -1, Device: "sda", DeviceRead: 33, DeviceWritten: 2, DeviceBusy: 6}
	blind := record.Truth{AppRead: 5, Device: "sda", DeviceWhy: "hidden", DeviceRead: -1, DeviceWritten: -1, DeviceBusy: -1}
	memory := record.Where{FSType: "tmpfs", Source: "tmpfs"}
	both := one
	both.AppRead, both.ProcRead, both.CgroupRead = 30, -1, 8
	longer := both
	longer.DeviceRead, longer.DeviceWritten, longer.DeviceBusy = 33, 2, 6
	seen := one
	seen.AppRead, seen.CgroupWritten = 15, -1
	for _, row := range []struct {
		name  string
		trial record.Trial
		want  []record.DeviceUse
	}{
		{"nothing", record.Trial{}, nil},
		{"failed before its window", record.Trial{Where: []record.Where{a}}, []record.DeviceUse{{Clients: []int{0}, Where: a}}},
		{"one client", record.Trial{Results: []workload.Result{window(1)}, Truth: []record.Truth{one}, Where: []record.Where{a}},
			[]record.DeviceUse{{Clients: []int{0}, Where: a, Truth: one}}},
		{"two on one disk: the first had the longer window", record.Trial{Results: []workload.Result{window(2), window(1)}, Truth: []record.Truth{one, two}, Where: []record.Where{a, a}},
			[]record.DeviceUse{{Clients: []int{0, 1}, Where: a, Truth: both}}},
		{"two on one disk: the second had the longer window", record.Trial{Results: []workload.Result{window(1), window(2)}, Truth: []record.Truth{one, two}, Where: []record.Where{a, a}},
			[]record.DeviceUse{{Clients: []int{0, 1}, Where: a, Truth: longer}}},
		{"one of them can't see the disk", record.Trial{Results: []workload.Result{window(2), window(1)}, Truth: []record.Truth{blind, one}, Where: []record.Where{a, a}},
			[]record.DeviceUse{{Clients: []int{0, 1}, Where: a, Truth: seen}}},
		{"two disks", record.Trial{Results: []workload.Result{window(1), window(1), window(1)}, Truth: []record.Truth{one, two, one}, Where: []record.Where{a, b, a}},
			[]record.DeviceUse{
				{Clients: []int{0, 2}, Where: a, Truth: record.Truth{AppRead: 20, ProcRead: 20, CgroupRead: 8, CgroupWritten: -1, Device: "sda", DeviceRead: 30, DeviceWritten: 1, DeviceBusy: 5}},
				{Clients: []int{1}, Where: b, Truth: two},
			}},
		{"disks of the same name on two machines", record.Trial{Results: []workload.Result{window(1), window(1)}, Truth: []record.Truth{one, two}, Where: []record.Where{a, far}},
			[]record.DeviceUse{{Clients: []int{0}, Where: a, Truth: one}, {Clients: []int{1}, Where: far, Truth: two}}},
		{"memory and a disk", record.Trial{Results: []workload.Result{window(1), window(1)}, Truth: []record.Truth{{AppRead: 1}, one}, Where: []record.Where{memory, a}},
			[]record.DeviceUse{{Clients: []int{0}, Where: memory, Truth: record.Truth{AppRead: 1}}, {Clients: []int{1}, Where: a, Truth: one}}},
	} {
		if d := cmp.Diff(row.want, row.trial.DeviceUses()); d != "" {
			t.Errorf("%s: DeviceUses (-want +got):\n%s", row.name, d)
		}
	}
}

func TestTotal(t *testing.T) {
	trial := record.Trial{
		Results: []workload.Result{window(1), window(1)},
		Where:   []record.Where{on("", "sda", 0), on("", "sdb", 16)},
		Truth: []record.Truth{
			{AppRead: 1, AppWritten: 2, ProcRead: 3, ProcWritten: -1, Device: "sda", DeviceRead: 4, DeviceWritten: 5, DeviceBusy: 9},
			{AppRead: 10, AppWritten: 20, ProcRead: 30, ProcWritten: 40, Device: "sdb", DeviceRead: 40, DeviceWritten: -1, DeviceBusy: 8, DeviceWhy: "hidden"},
		},
	}
	want := record.Truth{AppRead: 11, AppWritten: 22, ProcRead: 33, ProcWritten: -1, Device: "sda + sdb", DeviceRead: 44, DeviceWritten: -1, DeviceBusy: 9, DeviceWhy: "hidden"}
	if d := cmp.Diff(want, trial.Total()); d != "" {
		t.Errorf("Total (-want +got):\n%s", d)
	}
	if d := cmp.Diff(record.Truth{}, (&record.Trial{}).Total()); d != "" {
		t.Errorf("Total of nothing (-want +got):\n%s", d)
	}
}
