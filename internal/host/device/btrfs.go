package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// btrfs finds the members of a btrfs, which mountinfo doesn't name: it shows an
// anonymous device number and, as the source, one member. Sysfs lists them all
// in fs/btrfs/<uuid>/devices.
func (t *tracer) btrfs(n *Node, depth int) error {
	source := n.Mount.Source
	dir, members, err := t.fs.btrfsMembers(source)
	if err != nil {
		n.Why = fmt.Sprintf("btrfs on %s: %v", source, err)
		return nil
	}
	n.Level = profile(dir)
	for _, dev := range members {
		number, err := ParseNumber(dev)
		if err != nil {
			return fmt.Errorf("btrfs on %s: %w", source, err)
		}
		b, err := t.numbered(number, depth)
		if err != nil {
			return fmt.Errorf("btrfs on %s: %w", source, err)
		}
		b.Role = RoleMember
		n.Below = append(n.Below, b)
	}
	return nil
}

// profile returns how a btrfs spreads its data over its members. allocation/data has a folder for each profile in use; during a
// conversion there are two. It is "" if the kernel doesn't say.
func profile(dir string) string {
	entries, _ := filepath.Glob(filepath.Join(dir, "allocation", "data", "*", "total_bytes"))
	var names []string
	for _, e := range entries {
		names = append(names, filepath.Base(filepath.Dir(e)))
	}
	return strings.Join(names, "+")
}

// btrfsMembers returns the sysfs folder of the btrfs that has source as one of its members, and the
// device numbers ("7:0") of them all.
func (f FS) btrfsMembers(source string) (dir string, members []string, err error) {
	base := filepath.Join(f.Sys, "fs", "btrfs")
	all, err := os.ReadDir(base)
	if err != nil {
		return "", nil, fmt.Errorf("members: %w", err)
	}
	name := filepath.Base(source)
	// A name such as /dev/mapper/vg-data is a link to /dev/dm-0, the name in sysfs.
	if real, err := filepath.EvalSymlinks(source); err == nil {
		name = filepath.Base(real)
	}
	var found []string
	count := 0
	for _, e := range all {
		at := filepath.Join(base, e.Name())
		devices := filepath.Join(at, "devices")
		entries, err := os.ReadDir(devices)
		if err != nil || len(entries) == 0 {
			continue // "features" and other entries that are no file systems.
		}
		count++
		if members, ok := membersWith(devices, entries, name); ok {
			return at, members, nil
		} else if found == nil {
			dir, found = at, members
		}
	}
	// The kernel calls its boot device /dev/root. If the machine has one btrfs only, that one is meant.
	if count == 1 && name == "root" {
		return dir, found, nil
	}
	return "", nil, fmt.Errorf("sysfs lists no btrfs with a member %s", name)
}

// membersWith returns the device numbers in a devices folder, and whether one of its entries is called name.
func membersWith(dir string, entries []os.DirEntry, name string) (members []string, ok bool) {
	for _, e := range entries {
		ok = ok || e.Name() == name
		members = append(members, Text(filepath.Join(dir, e.Name()), "dev"))
	}
	return members, ok
}
