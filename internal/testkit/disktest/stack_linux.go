package disktest

import (
	"fmt"
	"path/filepath"
	"testing"
)

// A Stack is a way to stack a device on others.
type Stack struct {
	// Name lists its parts.
	Name string
	// Kind is the file system for it.
	Kind string
	// make builds the stack on loop devices, which it gets from disk. It returns the top node, and the node of the device that takes
	// a limit.
	make func(t testing.TB, disk func() string) (node, limited string)
}

// stackSize is the size of each of a stack's disks, in bytes; xfs needs the most.
const stackSize = 400 << 20

// A Stacked is a stack that was built.
type Stacked struct {
	// Node is the path of the top device, by its maker's name, and Dir is the mount point of its file system.
	Node, Dir string
	// Limited is the kernel's node of the device that takes a limit.
	Limited string
	// Disks are the loop devices at the bottom.
	Disks []string
}

// Stacks are the usual stacks below file systems, made by their own programs.
var Stacks = []Stack{
	{"partition", "ext4", func(t testing.TB, disk func() string) (string, string) {
		whole := disk()
		return Partitions(t, whole)[1], whole
	}},
	{"device mapper", "ext4", func(t testing.TB, disk func() string) (string, string) { return itself(t, Mapper(t, disk())) }},
	{"RAID 1", "ext4", func(t testing.TB, disk func() string) (string, string) {
		return itself(t, MD(t, "raid1", stackSize, disk(), disk()))
	}},
	{"RAID 5", "xfs", func(t testing.TB, disk func() string) (string, string) {
		return itself(t, MD(t, "raid5", stackSize, disk(), disk(), disk()))
	}},
	{"LVM linear", "ext4", func(t testing.TB, disk func() string) (string, string) {
		return itself(t, LVM(t, disk(), disk()).Create(t, "data", "--extents", "100%FREE"))
	}},
	{"LVM striped", "xfs", func(t testing.TB, disk func() string) (string, string) {
		return itself(t, LVM(t, disk(), disk()).Create(t, "data", "--stripes", "2", "--extents", "100%FREE"))
	}},
	{"LVM mirrored", "ext4", func(t testing.TB, disk func() string) (string, string) {
		return itself(t, LVM(t, disk(), disk()).Create(t, "data", "--type", "raid1", "--mirrors", "1", "--nosync", "--size", "128m"))
	}},
	{"LVM thin", "xfs", func(t testing.TB, disk func() string) (string, string) {
		g := LVM(t, disk())
		g.Create(t, "pool", "--type", "thin-pool", "--size", "320m", "--poolmetadatasize", "4m")
		return itself(t, g.Create(t, "data", "--thinpool", "pool", "--virtualsize", "1g"))
	}},
	{"LVM with a snapshot", "ext4", func(t testing.TB, disk func() string) (string, string) {
		g := LVM(t, disk())
		node := g.Create(t, "data", "--size", "128m")
		g.Snapshot(t, "kept", "data", "128m")
		return itself(t, node)
	}},
	{"LVM snapshot", "ext4", func(t testing.TB, disk func() string) (string, string) {
		g := LVM(t, disk())
		g.Create(t, "data", "--size", "128m")
		return itself(t, g.Snapshot(t, "kept", "data", "128m"))
	}},
	{"LUKS", "ext4", func(t testing.TB, disk func() string) (string, string) { return itself(t, LUKS(t, disk())) }},
	{"LUKS on LVM", "xfs", func(t testing.TB, disk func() string) (string, string) {
		return itself(t, LUKS(t, LVM(t, disk()).Create(t, "data", "--extents", "100%FREE")))
	}},
	{"LVM on LUKS", "ext4", func(t testing.TB, disk func() string) (string, string) {
		return itself(t, LVM(t, LUKS(t, disk())).Create(t, "data", "--extents", "100%FREE"))
	}},
}

// itself returns make's results for a stack whose top device takes the limit: the device's path, and the kernel's node of it.
func itself(t testing.TB, node string) (_, limited string) {
	t.Helper()
	return node, "/dev/" + kernelName(t, node)
}

// kernelName returns the kernel's name of a device, whose node may have another name.
func kernelName(t testing.TB, node string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks("/sys/dev/block/" + NodeNumber(t, node))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(path)
}

// New builds it, with its file system, on disks in memory.
func (s Stack) New(t testing.TB) Stacked {
	t.Helper()
	memory := Mount(t, "tmpfs", "tmpfs", 0, "")
	var made Stacked
	made.Node, made.Limited = s.make(t, func() string {
		d := Loop(t, ImageNamed(t, memory, fmt.Sprint("disk", len(made.Disks)), stackSize), false)
		made.Disks = append(made.Disks, d)
		return d
	})
	Format(t, made.Node, s.Kind)
	made.Dir = Mount(t, made.Node, s.Kind, 0, "")
	return made
}
