package check

import (
	"plimsoll/internal/record"
	"plimsoll/internal/workload"
)

// Truth puts the bytes of one trial side by side: the application's and the
// process's, summed over clients; the device's, of the client with the longest
// window, since the device's counters already hold what all clients did; and the control
// groups', which the caller summed over clients from what the workers read of them (-1: unknown).
//
// dev is the disk under the place; nil where there is none or it isn't known, and
// why then says so. Clients in different places need a Truth each.
func Truth(results []workload.Result, dev *record.Device, why string, cgroupRead, cgroupWritten int64) record.Truth {
	t := record.Truth{
		CgroupRead: cgroupRead, CgroupWritten: cgroupWritten,
		DeviceRead: -1, DeviceWritten: -1, DeviceBusy: -1, DeviceWhy: why,
	}
	for i := range results {
		read, written := results[i].Bytes()
		t.AppRead += read
		t.AppWritten += written
		t.ProcRead = add(t.ProcRead, results[i].ProcRead)
		t.ProcWritten = add(t.ProcWritten, results[i].ProcWritten)
	}
	if dev == nil {
		return t
	}
	t.Device = dev.Name
	r := longest(results)
	if r == nil {
		return t
	}
	if !countsDisks(r) {
		t.DeviceWhy = "the worker could not read the device counters (/proc/diskstats)"
		return t
	}
	// A disk that did nothing is not listed: its figures are zero.
	t.DeviceRead, t.DeviceWritten, t.DeviceBusy = 0, 0, 0
	for _, d := range r.Disks {
		if d.Major == dev.Major && d.Minor == dev.Minor {
			t.DeviceRead, t.DeviceWritten, t.DeviceBusy = d.ReadBytes, d.WrittenBytes, d.Busy
		}
	}
	return t
}

// add sums two counts of which -1 is unknown.
func add(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// countsDisks tells a machine on which no disk did anything from one that
// doesn't say: a kernel that hides /proc/self/io hides /proc/diskstats too (gVisor), and
// other systems have neither.
func countsDisks(r *workload.Result) bool {
	return len(r.Disks) > 0 || r.ProcRead >= 0 || r.ProcWritten >= 0
}
