package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// numbered traces the block device with this number.
func (t *tracer) numbered(number Number, depth int) (*Node, error) {
	link := filepath.Join(t.fs.Sys, "dev", "block", number.String())
	dir, err := filepath.EvalSymlinks(link)
	if err != nil {
		return nil, fmt.Errorf("block device %s: %w", number, err)
	}
	n := t.block(dir, depth)
	if n.Disk().Device.Number == (Number{}) {
		return nil, fmt.Errorf("block device %s: %s has no number in %s", number, n.Disk().Name, dir)
	}
	return n, nil
}

// block traces the block device with the sysfs folder dir.
func (t *tracer) block(dir string, depth int) *Node {
	n := &Node{Kind: KindDisk, Name: filepath.Base(dir), Device: Block(dir)}
	n.Device.Identity = identity(dir, t.fs.Proc)
	t.open = append(t.open, dir)
	defer func() { t.open = t.open[:len(t.open)-1] }()
	switch {
	case isPartition(dir):
		n.Kind = KindPartition
		n.Below = []*Node{t.block(filepath.Dir(dir), depth)}
	case strings.HasPrefix(n.Name, "loop"):
		n.Kind, n.File, n.DirectIO = KindLoop, Text(dir, "loop/backing_file"), Text(dir, "loop/dio") == "1"
		t.loopFile(n, depth)
	case Exists(dir, "dm"):
		t.dm(n, dir, depth)
	case Exists(dir, "md"):
		n.Kind, n.Level = KindMD, Text(dir, "md/level")
		t.slaves(n, dir, depth)
	case Exists(dir, "bcache") && strings.HasPrefix(n.Name, "bcache"):
		t.bcache(n, dir, depth)
	case strings.HasPrefix(filepath.Base(filepath.Dir(dir)), "nvme-subsys"):
		t.multipath(n, dir, depth)
	default:
		// Other drivers that stack devices show it the same way.
		t.slaves(n, dir, depth)
	}
	if len(n.Below) == 0 && n.Why == "" {
		n.Why = hidden(n)
	}
	return n
}

// slaves continues with the devices that the kernel lists as the parts of one.
func (t *tracer) slaves(n *Node, dir string, depth int) {
	entries, _ := os.ReadDir(filepath.Join(dir, "slaves"))
	for _, e := range entries {
		real, err := filepath.EvalSymlinks(filepath.Join(dir, "slaves", e.Name()))
		if err == nil && !slices.Contains(t.open, real) {
			n.Below = append(n.Below, t.block(real, depth))
		}
	}
}

// dm continues below a device of the device mapper. The first word of its uuid names the program that made it: "LVM-...",
// "CRYPT-LUKS2-...", "mpath-...", "part1-mpath-...".
func (t *tracer) dm(n *Node, dir string, depth int) {
	n.Kind, n.Label = KindDM, Text(dir, "dm/name")
	n.Maker, _, _ = strings.Cut(Text(dir, "dm/uuid"), "-")
	if t.fs.Targets != nil {
		n.Targets, _ = t.fs.Targets(n.Device.Number)
	}
	t.slaves(n, dir, depth)
}

// bcache continues below a bcache. The cache is the slave whose folder names its set; the other slave has the data
// (Documentation/admin-guide/bcache.rst).
func (t *tracer) bcache(n *Node, dir string, depth int) {
	n.Kind, n.CacheMode = KindBcache, chosen(Text(dir, "bcache/cache_mode"))
	t.slaves(n, dir, depth)
	for _, b := range n.Below {
		b.Role = RoleBacking
		at, _ := filepath.EvalSymlinks(filepath.Join(dir, "slaves", b.Name))
		if Exists(at, "bcache", "set") {
			b.Role = RoleCache
		}
	}
}

// multipath continues with the paths to an NVMe namespace: nvme0c1n1 is the path to nvme0n1 through the controller nvme1. The
// subsystem's folder has links to its controllers, whose folders hold the paths (drivers/nvme/host/core.c).
func (t *tracer) multipath(n *Node, dir string, depth int) {
	n.Kind = KindMultipath
	at := max(0, strings.LastIndex(n.Name, "n"))
	head, ns := n.Name[:at], n.Name[at:]
	entries, _ := os.ReadDir(filepath.Dir(dir))
	for _, e := range entries {
		controller, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(dir), e.Name()))
		if err != nil || !strings.HasPrefix(e.Name(), "nvme") || e.Name() == n.Name {
			continue
		}
		ways, _ := filepath.Glob(filepath.Join(controller, head+"c*"+ns))
		for _, w := range ways {
			b := t.block(w, depth)
			b.Kind = KindPath
			n.Below = append(n.Below, b)
		}
	}
}

// hidden returns the reason why the kernel shows nothing below a device that isn't the bottom; "" if it may be the bottom.
func hidden(n *Node) string {
	switch name := n.Name; {
	case n.Kind == KindLoop:
		return "no file is bound to it"
	case n.Kind == KindMD || n.Kind == KindMultipath || n.Kind == KindBcache:
		return "it has no disks now"
	case strings.HasPrefix(name, "zd"):
		return "a volume of ZFS: the pool does its own I/O on disks that the kernel doesn't name"
	case strings.HasPrefix(name, "nbd"), strings.HasPrefix(name, "rbd"), strings.HasPrefix(name, "drbd"):
		return "its data goes over the network, or to a program"
	case isMemory(n):
		return "it is memory"
	}
	return ""
}

// Disk returns the whole disk of a block device: itself, or that of a partition. The error wraps
// fs.ErrNotExist where sysfs shows no such device.
func (f FS) Disk(number Number) (*Device, error) {
	t := tracer{fs: f}
	n, err := t.numbered(number, maxDepth)
	if err != nil {
		return nil, err
	}
	return n.Disk().Device, nil
}

// Trees returns a function that traces a block device by its number down to the disks, also through the file of a loop device. It
// reads the mounts once, now. The function's error wraps fs.ErrNotExist if sysfs shows no such device.
func (f FS) Trees() (func(Number) (*Node, error), error) {
	mounts, err := f.mounts()
	if err != nil {
		return nil, err
	}
	return func(number Number) (*Node, error) {
		t := tracer{fs: f, mounts: mounts}
		return t.numbered(number, 0)
	}, nil
}
