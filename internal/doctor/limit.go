package doctor

import (
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/device/hierarchy"
)

// A mounted is where a controller is.
type mounted struct {
	version int // 0: nowhere
	dir     string
}

// where finds a controller.
func where(tree *hierarchy.Tree, c hierarchy.Controller) mounted {
	root, err := tree.Root(c)
	if err != nil {
		return mounted{}
	}
	return mounted{root.Version, root.Dir}
}

func (h mounted) words() string {
	switch h.version {
	case 1:
		return "cgroup version 1"
	case 2:
		return "cgroup version 2"
	}
	return "not there"
}

// occupied reports whether version 2's rule of no internal processes forbids to give
// the controller to groups below. It is so in a container that sees its own group as
// the root; the true root is exempt, and has no cgroup.type.
func (h mounted) occupied(c string) bool {
	return h.version == 2 && has(h.dir, "cgroup.type") && read(h.dir, "cgroup.procs") != "" &&
		!slices.Contains(strings.Fields(read(h.dir, "cgroup.subtree_control")), c)
}

// limit looks at what holds containers to their limits.
func (e *examination) limit(tree *hierarchy.Tree) {
	io, memory := where(tree, hierarchy.IO), where(tree, hierarchy.Memory)
	e.ioRates(io)
	e.bufferedWrites(io, memory)
	e.weights(io)
	e.latency(io)
	for _, controller := range []hierarchy.Controller{hierarchy.CPU, hierarchy.Memory} {
		h, c := where(tree, controller), controller.V2
		i := Item{ID: "limit/" + c, Group: Limit, Status: OK, What: c + " limits by " + h.words()}
		if h.version == 0 {
			i.Status, i.What, i.Why = No, c+" limits", "no "+c+" controller is mounted"
		}
		if h.occupied(c) {
			i.Status = No
			i.Why = h.dir + " is no true root and has processes of its own: no group below it can have the controller"
			i.Fix = "mkdir " + h.dir + "/init && xargs -n1 <" + h.dir + "/cgroup.procs >" + h.dir + "/init/cgroup.procs"
		}
		e.add(i)
	}
	if io.version != 0 && !writable(io.dir) {
		e.add(Item{"limit/root", Limit, No, "setting limits", "control groups are not writable for this user", "run as root"})
	}
}

// inAnyGroup reports whether a file is in one of the first two levels of groups. The root has
// none of the limits of version 2.
func inAnyGroup(dir, file string) bool {
	if has(dir, file) {
		return true
	}
	for _, c := range children(dir) {
		if has(c, file) {
			return true
		}
		for _, cc := range children(c) {
			if has(cc, file) {
				return true
			}
		}
	}
	return false
}

func (e *examination) ioRates(io mounted) {
	i := Item{ID: "limit/io", Group: Limit, Status: OK, What: "the kernel's I/O rates by " + io.words(), Why: "no engine of this version sets them"}
	switch {
	case io.version == 0:
		i.Status, i.What, i.Why = No, "I/O rates", "no blkio or io controller is mounted"
		i.Fix = "boot with a kernel that has CONFIG_BLK_CGROUP and CONFIG_BLK_DEV_THROTTLING"
	case io.version == 1 && !has(io.dir, "blkio.throttle.write_bps_device"):
		i.Status, i.Why = No, "the kernel has no throttling (CONFIG_BLK_DEV_THROTTLING)"
	case io.version == 2 && !inAnyGroup(io.dir, "io.max"):
		i.Status, i.Why = Partly, "no group has io.max yet: the controller isn't given to any"
		i.Fix = "echo +io > " + filepath.Join(io.dir, "cgroup.subtree_control")
	}
	e.add(i)
}

// bufferedWrites says whether writeback is charged to who wrote. It takes the
// memory and the io controller together in version 2, and a file system that takes part.
func (e *examination) bufferedWrites(io, memory mounted) {
	i := Item{ID: "limit/buffered", Group: Limit, Status: OK, What: "limits on buffered writes"}
	switch {
	case io.version == 0:
		i.Status, i.Why = No, "no I/O controller"
	case io.version == 2 && memory.version == 2:
		i.Why = "on ext2, ext4 (without data=journal), xfs, btrfs and f2fs"
	default:
		i.Status = Partly
		i.Why = "with version 1 only synced and direct writes are held; a volume with a device of its own can be limited at the device"
		i.Fix = "boot with systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all"
	}
	e.add(i)
}

// weights says whether relative weights have an effect: by the bfq scheduler, or
// by iocost where it is enabled for a disk.
func (e *examination) weights(io mounted) {
	i := Item{ID: "limit/weight", Group: Limit, Status: No, What: "I/O weights"}
	var bfq, could []string
	schedulers, _ := filepath.Glob(filepath.Join(e.o.FS.Sys, "block/*/queue/scheduler"))
	for _, s := range schedulers {
		disk := filepath.Base(filepath.Dir(filepath.Dir(s)))
		if strings.HasPrefix(disk, "loop") || strings.HasPrefix(disk, "zram") || strings.HasPrefix(disk, "ram") {
			continue
		}
		switch text := read(s); {
		case strings.Contains(text, "[bfq]"):
			bfq = append(bfq, disk)
		case strings.Contains(text, "bfq"):
			could = append(could, disk)
		}
	}
	iocost := io.version == 2 && strings.Contains(read(io.dir, "io.cost.qos"), "enable=1")
	weightFile := "blkio.bfq.weight"
	if io.version == 2 {
		weightFile = "io.bfq.weight"
	}
	switch {
	case io.version == 0:
		i.Why = "no I/O controller"
	case iocost:
		i.Status, i.What = OK, "I/O weights by iocost"
	case len(bfq) > 0 && !inAnyGroup(io.dir, weightFile):
		i.Why = "bfq schedules " + strings.Join(bfq, ", ") + ", but the kernel has no " + weightFile
	case len(bfq) > 0:
		i.Status, i.What = OK, "I/O weights by bfq on "+strings.Join(bfq, ", ")
	case len(could) > 0:
		i.Status, i.Why = Partly, "bfq is there but schedules no disk"
		if !inAnyGroup(io.dir, weightFile) {
			i.Why += ", and no group shows " + weightFile
		}
		i.Fix = "echo bfq > /sys/block/" + could[0] + "/queue/scheduler"
	case io.version == 2 && has(io.dir, "io.cost.qos"):
		i.Status, i.Why = Partly, "iocost is there but enabled for no disk"
		i.Fix = "echo \"MAJ:MIN enable=1\" > " + filepath.Join(io.dir, "io.cost.qos")
	default:
		i.Why = "no disk is scheduled by bfq, and there is no iocost: a weight would be accepted without effect"
		i.Fix = "modprobe bfq"
	}
	e.add(i)
}

// latency says whether groups can have a latency target.
func (e *examination) latency(io mounted) {
	i := Item{ID: "limit/latency", Group: Limit, Status: OK, What: "I/O latency targets (io.latency)"}
	switch {
	case io.version != 2:
		i.Status, i.Why = No, "they are version 2's"
	case !inAnyGroup(io.dir, "io.latency"):
		i.Status, i.Why = No, "no group has io.latency (CONFIG_BLK_CGROUP_IOLATENCY)"
	}
	e.add(i)
}
