package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// loopFile continues at the file of a loop device. The kernel's number of the file decides: the name in sysfs may lead to another
// file by now, or in this mount namespace. If the number leads nowhere, the tree ends at the loop device and says why.
func (t *tracer) loopFile(n *Node, depth int) {
	if n.File == "" {
		return // The device was in use when its folder was read, and is free now.
	}
	file, deleted := strings.CutSuffix(n.File, " (deleted)")
	if deleted {
		n.Why = "its file was deleted"
	}
	m, lost := t.holding(n.Name, file)
	var b *Node
	var err error
	switch {
	case m != nil:
		b, err = t.whole(*m, depth+1)
	case lost != "":
		n.Why, n.Lost = lost, true
		return
	default:
		if deleted {
			n.Why += ": this is what its name would be on"
		}
		b, err = t.path(file, depth+1)
	}
	if err != nil {
		n.Why = "its file can't be found: " + err.Error()
		n.Lost = true
		return
	}
	b.Role = RoleFile
	n.Below = append(n.Below, b)
}

// holding finds the mount with the file of a loop device by the kernel's number, if the file's name leads to another file or to
// none: it was deleted, something was mounted over it, or the name is of another mount namespace. It returns nil and no reason if
// the name is right, or if the kernel doesn't report the number.
func (t *tracer) holding(loop, file string) (m *Mount, lost string) {
	if t.fs.Backing == nil {
		return nil, ""
	}
	dev, inode, err := t.fs.Backing(loop)
	if err != nil || sameFile(file, dev, inode) {
		return nil, ""
	}
	n := NumberOf(dev)
	if m := t.mounted(n); m != nil {
		return m, ""
	}
	switch {
	case dev != 0 && dev == memoryFiles():
		// The file system of memfd_create(2) and shared memory: the kernel mounts it nowhere.
		return &Mount{Number: n, FSType: "tmpfs", Source: "tmpfs", Point: "not mounted", Root: "/"}, ""
	case n.Major != 0:
		// A file system with a device of its own, which is known without a mount.
		return &Mount{Number: n, FSType: "unmounted", Point: "not mounted", Root: "/"}, ""
	}
	if at := find(t.mounts, file); at != nil && at.FSType == "btrfs" {
		// Each btrfs subvolume has a number of its own, which no mount has.
		return nil, ""
	}
	return nil, fmt.Sprintf("its file is on the file system %s, which no process has mounted any more, and which may be memory (tmpfs)", n)
}

// mounted finds a mount of the file system with this number, in this mount namespace or in that of any other process.
func (t *tracer) mounted(n Number) *Mount {
	has := func(mounts []Mount) *Mount {
		for i := range mounts {
			if m := &mounts[i]; m.Number == n {
				return m
			}
		}
		return nil
	}
	if m := has(t.mounts); m != nil {
		return m
	}
	seen := map[string]bool{}
	links, _ := filepath.Glob(filepath.Join(t.fs.Proc, "[0-9]*", "ns", "mnt"))
	for _, link := range links {
		ns, err := os.Readlink(link)
		if err != nil || seen[ns] {
			continue
		}
		seen[ns] = true
		mounts, err := t.fs.MountsOf(filepath.Base(filepath.Dir(filepath.Dir(link))))
		if err != nil {
			continue // The process has ended.
		}
		if m := has(mounts); m != nil {
			return m
		}
	}
	return nil
}
