package disktest

import (
	"fmt"
	"path/filepath"
	"testing"
)

// A Stack is a way to put a device on others.
type Stack struct {
	// Name names its parts.
	Name string
	// Kind is the file system to try it with.
	Kind string
	// make makes it of as many loop devices as it asks for. It returns the node, and the one that a limit goes on.
	make func(t testing.TB, disk func() string) (node, limited string)
}

// stackSize is that of each of a stack's disks, in bytes: xfs wants the most.
const stackSize = 400 << 20

// A Stacked is a stack that was made.
type Stacked struct {
	// Node is the path of the top device, as its maker names it, and Dir is where its file system is mounted.
	Node, Dir string
	// Limited is the kernel's node of the device that a limit goes on.
	Limited string
	// Disks are the loop devices at the bottom.
	Disks []string
}

// Stacks are what administrators put under file systems, made by their own programs.
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

// itself is a stack whose top device takes the limit: its path, and the kernel's node of it.
func itself(t testing.TB, node string) (_, limited string) {
	t.Helper()
	return node, "/dev/" + kernelName(t, node)
}

// kernelName is what the kernel calls a device, whose node may have another name.
func kernelName(t testing.TB, node string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks("/sys/dev/block/" + NodeNumber(t, node))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(path)
}

// New makes it, with its file system, on disks in memory.
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
