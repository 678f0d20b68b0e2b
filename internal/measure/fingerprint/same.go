package fingerprint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// memoryTolerance is the share by which two sizes of memory may differ and still count as equal: the kernel reserves a
// little, and how much depends on its version.
const memoryTolerance = 0.01

// diffs collects differences in words.
type diffs []string

func (d *diffs) text(what, a, b string) {
	if a != b {
		*d = append(*d, fmt.Sprintf("%s: %s / %s", what, orNone(a), orNone(b)))
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// Same returns the differences between two machines, in words such as "kernel: 6.1.0 / 6.8.0", and nothing if their
// figures may be compared.
func Same(a, b record.Machine) []string {
	var d diffs
	d.text("machine", a.Hostname, b.Hostname)
	d.text("system", a.OS+"/"+a.Arch, b.OS+"/"+b.Arch)
	d.text("kernel", a.Kernel, b.Kernel)
	d.text("CPU", a.CPUModel, b.CPUModel)
	d.text("CPUs", fmt.Sprint(a.CPUs), fmt.Sprint(b.CPUs))
	if x, y := float64(a.Memory), float64(b.Memory); math.Abs(x-y) > memoryTolerance*max(x, y) {
		d.text("memory", mib(a.Memory), mib(b.Memory))
	}
	d.text("hypervisor", a.Virtual, b.Virtual)
	d.text("cgroup version", a.Cgroup, b.Cgroup)
	d.text("clock", a.Clock, b.Clock)
	return d
}

// SameWhere returns the differences between the places of two cells, in words. Names that are new for each container
// (overlay's folders, the number of a loop device) don't count.
func SameWhere(a, b record.Where) []string {
	var d diffs
	if a.Host != b.Host {
		d.text("machine", cmp.Or(a.Host, "this one"), cmp.Or(b.Host, "this one"))
	}
	d.text("kernel", a.Kernel, b.Kernel)
	d.text("file system", a.FSType, b.FSType)
	if a.FSType == b.FSType {
		d.options(a.Options, b.Options)
	}
	d.device(a.Device, b.Device)
	if a.Device == nil && b.Device == nil {
		// Without a device, the source distinguishes two NFS servers.
		d.text("source", a.Source, b.Source)
	}
	d.text("runtime", a.Runtime, b.Runtime)
	d.text("daemon", a.Daemon, b.Daemon)
	d.text("storage driver", a.Storage, b.Storage)
	if a.CgroupVersion != b.CgroupVersion && a.CgroupVersion != 0 && b.CgroupVersion != 0 {
		d.text("cgroup version of I/O", fmt.Sprint(a.CgroupVersion), fmt.Sprint(b.CgroupVersion))
	}
	d.text("limits", a.Limits, b.Limits)
	if a.Limits == b.Limits && a.Memory != b.Memory {
		// The plan asks for the same limit, and the environment of plimsoll may lower it.
		d.text("memory limit in effect", memoryText(a.Memory), memoryText(b.Memory))
	}
	d.text("CPUs that the worker may use", cpusText(a), cpusText(b))
	return d
}

// memoryText returns a limit in words; "" for none.
func memoryText(n int64) string {
	if n == 0 {
		return ""
	}
	return size.Bytes(n)
}

// cpusText returns the CPUs that a cpuset or an affinity leaves to the worker; "all" if none is excluded.
func cpusText(w record.Where) string {
	for _, f := range w.Foreign {
		if f.Key == limit.CPUs {
			return f.Text()
		}
	}
	return "all"
}

// ownOptions are mount options that name a container's or a volume's own folders; size is tmpfs's and belongs to the
// plan.
var ownOptions = []string{"lowerdir", "lowerdir+", "datadir+", "upperdir", "workdir", "subvol", "subvolid", "size", "nr_inodes"}

// options adds the mount options that only one of the two has.
func (d *diffs) options(a, b string) {
	as, bs := optionSet(a), optionSet(b)
	onlyA, onlyB := missing(as, bs), missing(bs, as)
	if len(onlyA)+len(onlyB) > 0 {
		d.text("mount options", strings.Join(onlyA, ","), strings.Join(onlyB, ","))
	}
}

func optionSet(s string) map[string]bool {
	set := make(map[string]bool)
	for o := range strings.SplitSeq(s, ",") {
		key, _, _ := strings.Cut(o, "=")
		if o != "" && !slices.Contains(ownOptions, key) {
			set[o] = true
		}
	}
	return set
}

// missing returns what a has and b lacks, sorted.
func missing(a, b map[string]bool) []string {
	var out []string
	for _, o := range slices.Sorted(maps.Keys(a)) {
		if !b[o] {
			out = append(out, o)
		}
	}
	return out
}

// device adds the differences between two disks.
func (d *diffs) device(a, b *record.Device) {
	if a == nil && b == nil {
		return
	}
	if a == nil || b == nil {
		d.text("device", deviceName(a), deviceName(b))
		return
	}
	if !(isLoop(a) && isLoop(b)) {
		d.text("device", a.Name, b.Name)
	}
	d.text("device model", a.Model, b.Model)
	d.text("rotational", fmt.Sprint(a.Rotational), fmt.Sprint(b.Rotational))
	d.text("scheduler", a.Scheduler, b.Scheduler)
	d.text("queue length", fmt.Sprint(a.NrRequests), fmt.Sprint(b.NrRequests))
	d.text("write cache", a.WriteCache, b.WriteCache)
	d.text("logical block size", fmt.Sprint(a.LogicalBS), fmt.Sprint(b.LogicalBS))
	d.text("devices beneath", beneath(a), beneath(b))
}

func isLoop(d *record.Device) bool { return strings.HasPrefix(d.Name, "loop") }

func deviceName(d *record.Device) string {
	if d == nil {
		return "none"
	}
	return d.Name
}

// beneath returns the stack under d as one text.
func beneath(d *record.Device) string {
	if len(d.Stack) < 2 {
		return ""
	}
	return strings.Join(d.Stack[1:], " ")
}

func mib(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
