// Package weight reports whether a relative weight has an effect on a disk.
//
// A weight is a number in a group's file. The kernel accepts it even if nothing divides the disk by weight. What may
// do so is bfq, if it schedules the disk (version 1 and 2), iocost, if it is enabled for the disk (version 2), or CFQ
// (version 1, before Linux 5.0). Each has its own file in the groups. This package alone has the rule: both the
// explanation of a path and the writing of a group use it.
//
// Easily got wrong: a device on top of others (dm, md) has no scheduler; the weight goes to the devices below.
//
// The formats are in the kernel's Documentation/block/switching-sched.rst and
// Documentation/admin-guide/cgroup-v2.rst, io.cost.qos.
package weight

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// Ways to divide a disk by weight.
const (
	ByBFQ    = "bfq"
	ByIOCost = "iocost"
	ByCFQ    = "cfq"
)

// An Effect is whether weights have an effect on a disk.
type Effect struct {
	// By is ByBFQ, ByIOCost or ByCFQ; "" means that a weight would be refused or have no effect.
	By string `json:"by,omitempty"`
	// Ready is set where weights have no effect yet and Fix would turn them on.
	Ready bool `json:"ready,omitempty"`
	// Why is the reason in words, and Fix what would change it.
	Why string `json:"why,omitempty"`
	Fix string `json:"fix,omitempty"`
}

// Works reports whether a weight has an effect.
func (e Effect) Works() bool { return e.By != "" }

// Files are the files of a group that take the weight for one of ByBFQ, ByIOCost and ByCFQ in a version; the first
// that exists counts. In version 1, bfq's file for single devices also takes the weight for all; kernels before 5.4
// don't have it.
func Files(version int, by string) []string {
	switch {
	case version == 2 && by == ByBFQ:
		return []string{"io.bfq.weight"}
	case version == 2 && by == ByIOCost:
		return []string{"io.weight"}
	case version == 1 && by == ByBFQ:
		return []string{"blkio.bfq.weight_device", "blkio.bfq.weight"}
	case version == 1 && by == ByCFQ:
		return []string{"blkio.weight"}
	}
	return nil
}

// A Disk is a whole disk.
type Disk struct {
	// Name is "sda".
	Name   string
	Number device.Number
	// Dir is its folder in sysfs; "" if the disk is gone.
	Dir string
}

// A Place is where a weight would be written.
type Place struct {
	// Root is the topmost visible group of the I/O controller; nil if there is none.
	Root *hierarchy.Group
	// Group is the group that gets the weight; nil: any group.
	Group *hierarchy.Group
}

// Effect reports whether a weight takes effect on a disk.
func (p Place) Effect(d Disk) Effect {
	switch {
	case p.Root == nil:
		return Effect{Why: "no I/O controller"}
	case d.Dir == "":
		return Effect{Why: "there is no block device " + d.Number.String() + " here (any more)"}
	}
	chosen, offered := Schedulers(device.Text(d.Dir, "queue/scheduler"))
	for _, by := range []string{ByBFQ, ByCFQ} {
		if chosen == by && p.hasAny(Files(p.Root.Version, by)) {
			return Effect{By: by, Why: fmt.Sprintf("%s is scheduled by %s, which divides it by weight", d.Name, chosen)}
		}
	}
	qos := p.qos()
	// Such a kernel has io.weight in every group with the controller.
	if enabled(qos, d.Number) && (p.Group == nil || p.hasAny(Files(2, ByIOCost))) {
		return Effect{By: ByIOCost, Why: "iocost is enabled for " + d.Name + " and divides it by weight"}
	}
	return p.missing(d, chosen, offered, qos)
}

// missing says what a weight needs to have an effect.
func (p Place) missing(d Disk, chosen string, offered []string, qos string) Effect {
	bfq := "echo bfq > /sys/block/" + d.Name + "/queue/scheduler"
	switch below := below(d.Dir); {
	case len(below) > 0:
		return Effect{
			Why: d.Name + " has no scheduler of its own",
			Fix: "give the weight to what it stands on: " + strings.Join(below, ", "),
		}
	case chosen == ByBFQ:
		return Effect{Why: d.Name + " is scheduled by bfq, but this kernel has no bfq weights for groups (CONFIG_BFQ_GROUP_IOSCHED)"}
	}
	e := Effect{Why: fmt.Sprintf("%s is scheduled by %s, which knows no weights", d.Name, chosen)}
	if offered == nil {
		e.Why = d.Name + " has no scheduler, and only bfq and iocost divide a disk by weight"
	}
	switch {
	case slices.Contains(offered, ByBFQ):
		e.Ready, e.Fix = true, bfq
	case qos != "":
		e.Ready, e.Fix = true, fmt.Sprintf("echo \"%s enable=1\" > %s", d.Number, filepath.Join(p.Root.Dir, qosFile))
	case offered != nil:
		e.Fix = "modprobe bfq, then " + bfq
	}
	return e
}

const qosFile = "io.cost.qos"

// qos is the content of io.cost.qos with a final newline, "" where there is none: only version 2's root has it.
func (p Place) qos() string {
	if p.Root.Version != 2 {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(p.Root.Dir, qosFile))
	if err != nil {
		return ""
	}
	return string(b) + "\n"
}

// enabled reads "254:0 enable=1 ctrl=auto ...".
func enabled(qos string, d device.Number) bool {
	for line := range strings.Lines(qos) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == d.String() {
			return slices.Contains(f, "enable=1")
		}
	}
	return false
}

// hasAny reports whether the group has one of the files, or without a group, whether any group near the root has one:
// the root itself never has weights. A group without the controller counts as having them: whether the disk supports
// weights can't be seen from its files, and the code that writes the weight reports the missing controller or has
// systemd provide it.
func (p Place) hasAny(files []string) bool {
	if p.Group != nil && p.ungiven() {
		return true
	}
	return slices.ContainsFunc(files, func(f string) bool {
		if p.Group == nil {
			return InAnyGroup(p.Root.Dir, f)
		}
		_, err := os.Stat(filepath.Join(p.Group.Dir, f))
		return err == nil
	})
}

// ungiven reports whether the group is one of version 2 without the I/O controller.
func (p Place) ungiven() bool {
	if p.Root.Version != 2 || p.Group.Dir == p.Root.Dir {
		return false
	}
	b, err := os.ReadFile(filepath.Join(p.Group.Dir, "cgroup.controllers"))
	return err == nil && !slices.Contains(strings.Fields(string(b)), "io")
}

// InAnyGroup reports whether a group or one of the two levels below it has a file. The root has none of the limits of
// version 2.
func InAnyGroup(dir, file string) bool {
	// os.DirFS keeps special characters in the folder's name from being read as a pattern.
	below := os.DirFS(dir)
	for _, pattern := range []string{"", "*", "*/*"} {
		if found, _ := fs.Glob(below, path.Join(pattern, file)); len(found) > 0 {
			return true
		}
	}
	return false
}

// Schedulers reads a disk's queue/scheduler, "none [mq-deadline] bfq"; offered is nil where there is no queue to
// schedule: there is no such file, or a bare "none" in it, as Linux 6.1 has for a device-mapper target (elv_iosched_show of block/elevator.c).
func Schedulers(text string) (chosen string, offered []string) {
	for _, s := range strings.Fields(text) {
		if name, ok := strings.CutPrefix(s, "["); ok {
			s = strings.TrimSuffix(name, "]")
			chosen = s
		}
		offered = append(offered, s)
	}
	if chosen == "" {
		return "", nil
	}
	return chosen, offered
}

// below lists the names of the devices under a device.
func below(dir string) []string {
	// The entries are links to folders.
	entries, _ := os.ReadDir(filepath.Join(dir, "slaves"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
