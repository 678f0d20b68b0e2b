package check

import (
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// Truth puts the byte counts of one client side by side: the application's, the process's, its control group's (which the
// caller has looked up; -1 is unknown), and the device's, whose counters include all programs.
//
// dev is the disk under the client's place. It is nil where there is none or it isn't known; why says which.
func Truth(r *workload.Result, dev *record.Device, why string, cgroupRead, cgroupWritten int64) record.Truth {
	t := record.Truth{
		ProcRead: r.ProcRead, ProcWritten: r.ProcWritten,
		CgroupRead: cgroupRead, CgroupWritten: cgroupWritten,
		DeviceRead: -1, DeviceWritten: -1, DeviceBusy: -1, DeviceWhy: why,
	}
	t.AppRead, t.AppWritten = r.Bytes()
	if dev == nil {
		return t
	}
	t.Device = dev.Name
	if !countsDisks(r) {
		t.DeviceWhy = "the worker could not read the device counters (/proc/diskstats)"
		return t
	}
	// A disk that did nothing isn't listed.
	t.DeviceRead, t.DeviceWritten, t.DeviceBusy = 0, 0, 0
	for _, d := range r.Disks {
		if d.Number == dev.Number {
			t.DeviceRead, t.DeviceWritten, t.DeviceBusy = d.ReadBytes, d.WrittenBytes, d.Busy
		}
	}
	return t
}

// countsDisks tells a machine on which no disk did anything from one that hides its counters: a kernel that hides
// /proc/self/io hides /proc/diskstats too (gVisor), and other systems have neither.
func countsDisks(r *workload.Result) bool {
	return len(r.Disks) > 0 || r.ProcRead >= 0 || r.ProcWritten >= 0
}

// Layers adds to the layers of a place their counters in the window of a client's result. others are the flushes a second
// that other programs caused just before it, by device number; window is the window's length.
func Layers(layers []device.Layer, disks []workload.DiskDelta, flushes bool, others map[device.Number]float64, window time.Duration) []record.Layer {
	var out []record.Layer
	for _, l := range layers {
		r := record.Layer{Layer: l}
		if !flushes {
			r.Flushes = -1
		}
		own := int64(0)
		for _, p := range l.Parts {
			for _, d := range disks {
				if d.Number != p.Number {
					continue
				}
				r.Read, r.Written = r.Read+d.ReadBytes, r.Written+d.WrittenBytes
				if flushes {
					if d.Flushes > r.Flushes {
						r.Flushes, r.FlushTime = d.Flushes, d.FlushTime
					}
					own = max(own, d.Flushes-int64(others[p.Number]*window.Seconds()))
				}
			}
		}
		r.OthersFlushes = max(0, r.Flushes-own)
		out = append(out, r)
	}
	return out
}
