package check

import (
	"strings"

	"plimsoll/internal/measure/record"
)

const (
	// noneReached is the share of the application's bytes below which the device had nothing to do with the figure. It is
	// not 0, because a journal commit or another program's log may fall into any window.
	noneReached = 0.05
	// allReached is the share that direct or synced I/O must reach. It is not 1, because counters are read a moment before
	// and after the window.
	allReached = 0.9
	// mostReached is the share that buffered writes with a sync must reach: a page that is written twice between two syncs
	// reaches the device once.
	mostReached = 0.5
)

// checkCache is check 1: did the bytes reach the device, and is it known to be a device?
func checkCache(v *view) []record.Warning {
	out := v.reachedDevice()
	if v.memory || v.where.InMemory != "" || v.where.Unseen == "" {
		return out
	}
	if v.where.MaybeMemory {
		return append(out, warning(Cache, record.Doubt, map[string]any{"unseen": v.where.Unseen},
			"Plimsoll can't see the device under this place's data (%s). The figure may be the speed of memory.", v.where.Unseen)...)
	}
	return append(out, warning(DeviceUnknown, record.Note, map[string]any{"unseen": v.where.Unseen},
		"Plimsoll can't see which of the bytes reached a disk beneath the device: %s.", v.where.Unseen)...)
}

// reachedDevice compares the application's bytes with those on the device, and on the devices beneath it.
func (v *view) reachedDevice() []record.Warning {
	tr := v.truth
	switch {
	case v.memory && v.block && v.t.Spec.Job.Direct:
		return warning(Cache, record.Note, nil, "%s is memory: nothing reaches a device, with O_DIRECT or without.", v.where.FSType)
	case v.memory:
		return warning(Cache, record.Note, nil, "%s is memory: nothing reaches a device.", v.where.FSType)
	case v.where.InMemory != "":
		return unsafe(warning(Cache, record.Doubt, map[string]any{"in_memory": v.where.InMemory, "fs": v.where.FSType},
			"This place looks like a disk, but is memory: %s. The figure is the speed of memory, and the data is lost with it.", v.where.InMemory))
	case !v.onDisk():
		return deviceUnknown(v)
	case !v.block && !v.synced:
		return v.byDesign()
	}
	var out []record.Warning
	for _, f := range []flow{v.read, v.written} {
		if f.app < baseSlack || f.share(v.slack) >= 1 {
			continue
		}
		out = append(out, v.reached(f)...)
	}
	if len(out) == 0 {
		out = v.beneath()
	}
	if len(out) == 0 && tr.AppRead >= baseSlack {
		out = v.othersReads()
	}
	return out
}

// deviceUnknown notes once that there is no verdict.
func deviceUnknown(v *view) []record.Warning {
	why := v.truth.DeviceWhy
	if why == "" {
		why = "no device is known under the place"
	}
	return warning(DeviceUnknown, record.Note, nil, "Plimsoll can't see how many of the bytes reached a device: %s.", strings.TrimSuffix(why, "."))
}

// byDesign reports how much I/O of append and tree reached the device. These workloads are meant to be buffered. Reads and
// writes share one sentence: in memory there is no difference.
func (v *view) byDesign() []record.Warning {
	f := flow{"both", v.read.app + v.written.app, v.read.device + v.written.device, -1, -1}
	if f.app < baseSlack || f.share(v.slack) >= mostReached {
		return nil
	}
	return warning(Cache, record.Note, v.evidence(f), "Memory, by design: %s of the bytes read and written reached the device (%s): %s requested, %s on the device. The figure is the speed of the page cache and of the file system's code.",
		percent(f.device/f.app), v.truth.Device, bytes(f.app), bytes(f.device))
}

// reached judges one direction by the kind of I/O that the job asked for.
func (v *view) reached(f flow) []record.Warning {
	share, floor := f.share(v.slack), allReached
	write := f.name == "written"
	switch {
	case v.block && v.direct:
		if write && share >= noneReached {
			return nil // checkCompressible reports data that shrinks on the way
		}
	case write && v.synced:
		if v.reduced() {
			return nil
		}
		floor = mostReached
	}
	if share >= floor {
		return nil
	}
	switch {
	case v.block && v.direct:
		return warning(Cache, record.Doubt, v.evidence(f), "%s, although O_DIRECT was accepted: something above the device answered.", capital(v.sentence(f)))
	case write && v.synced:
		return unsafe(warning(Cache, record.Doubt, v.evidence(f), "%s, although the job syncs its writes: the syncs did not reach the device.", capital(v.sentence(f))))
	}
	return warning(Cache, record.Doubt, v.evidence(f), "%s: this is the speed of memory. Set direct: true to measure the device.", capital(v.sentence(f)))
}

// reduced reports whether the file system compresses what the job writes. Fewer bytes have to reach the device then;
// checkCompressible reports it.
func (v *view) reduced() bool {
	return reducible(v.t.Spec.Job) != "" && compression(v.where.FSType, v.where.Options) != ""
}

// sentence is the verdict: "0 % of the bytes read reached the device (vda): 100 MiB requested, 0 B on the device".
func (v *view) sentence(f flow) string {
	verb := "reached"
	if f.name == "read" {
		verb = "came from"
	}
	return percent(min(1, f.device/f.app)) + " of the bytes " + f.name + " " + verb + " the device (" + v.truth.Device + "): " +
		bytes(f.app) + " requested, " + bytes(f.device) + " on the device"
}

func (v *view) evidence(f flow) map[string]any {
	return map[string]any{"direction": f.name, "app": f.app, "device": f.device, "process": f.proc, "cgroup": f.group, "slack": v.slack}
}

// beneath compares the bytes on the device with those on the devices beneath it. Bytes may reach a loop device, or the disk
// of a virtual machine, and end in the page cache that holds its file.
func (v *view) beneath() []record.Warning {
	if !v.block || !v.direct && !v.synced {
		return nil
	}
	f := v.mostly()
	if f.app < baseSlack || f.name == "written" && v.reduced() {
		return nil
	}
	for i, l := range v.truth.Layers {
		if f.device = float64(l.Read); f.name == "written" {
			f.device = float64(l.Written)
		}
		if i == 0 || l.Any || f.share(v.slack) >= mostReached {
			continue
		}
		above := v.truth.Layers[i-1]
		return warning(Cache, record.Doubt, v.evidence(f), "The bytes %s went through %s, but only %s of them went through %s beneath it. The page cache behind %s handled the rest.",
			f.name, above.Name(), percent(f.device/f.app), l.Name(), above.Name())
	}
	return nil
}

// charges are the file systems on which the kernel charges reads to the process that asks (submit_bio in its context).
var charges = []string{"ext4", "xfs", "ext3", "ext2", "f2fs", "overlay"}

// othersReads finds reads from the page cache while a neighbour keeps the device busy: the device moved enough bytes, but
// not for this process.
func (v *view) othersReads() []record.Warning {
	f := v.read
	if !contains(charges, v.where.FSType) || f.proc < 0 || (f.proc+v.slack)/f.app >= noneReached {
		return nil
	}
	if f.group > f.proc {
		return nil // its group did read: the process's own counter misses some
	}
	return warning(Cache, record.Doubt, v.evidence(f), "The kernel charged only %s of the bytes read (%s) to the worker, while the device read %s for others: this is the speed of memory.",
		percent(f.proc/f.app), bytes(f.app), bytes(f.device))
}
