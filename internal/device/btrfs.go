package device

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// btrfs finds the members of a btrfs, which mountinfo doesn't name: it shows an
// anonymous device number and, as the source, one member. Sysfs lists them all
// in fs/btrfs/<uuid>/devices.
func (f FS) btrfs(s *Stack, mounts []Mount, depth int) error {
	members, err := f.btrfsMembers(s.Mount.Source)
	if err != nil {
		s.Why = fmt.Sprintf("btrfs on %s: %v", s.Mount.Source, err)
		return nil
	}
	var names []string
	for _, dev := range members {
		major, minor, err := parseDev(dev)
		if err != nil {
			return fmt.Errorf("btrfs on %s: %w", s.Mount.Source, err)
		}
		d, err := f.disk(major, minor, mounts, depth)
		if err != nil {
			return fmt.Errorf("btrfs on %s: %w", s.Mount.Source, err)
		}
		// Two partitions of one disk are one disk.
		if !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
			s.Devices = append(s.Devices, *d)
		}
	}
	if len(s.Devices) == 1 {
		s.Device = &s.Devices[0]
		return nil
	}
	s.Why = fmt.Sprintf("btrfs spreads its data over %s: which of them a byte goes to isn't known", strings.Join(names, ", "))
	return nil
}

// btrfsMembers returns the device numbers ("7:0") of the members of the btrfs that
// has source as one of them.
func (f FS) btrfsMembers(source string) ([]string, error) {
	base := filepath.Join(f.Sys, "fs", "btrfs")
	all, err := os.ReadDir(base)
	if err != nil {
		return nil, fmt.Errorf("members: %w", err)
	}
	name := filepath.Base(source)
	// A name such as /dev/mapper/vg-data is a link to /dev/dm-0, the name in sysfs.
	if real, err := filepath.EvalSymlinks(source); err == nil {
		name = filepath.Base(real)
	}
	var found []string
	count := 0
	for _, e := range all {
		devices := filepath.Join(base, e.Name(), "devices")
		entries, err := os.ReadDir(devices)
		if err != nil || len(entries) == 0 {
			continue // "features" and what else isn't a file system.
		}
		count++
		if members, ok := membersWith(devices, entries, name); ok {
			return members, nil
		} else if found == nil {
			found = members
		}
	}
	// The kernel calls the device it booted from /dev/root. With one btrfs in the
	// machine there is no doubt which it is.
	if count == 1 && name == "root" {
		return found, nil
	}
	return nil, fmt.Errorf("sysfs lists no btrfs with a member %s", name)
}

// membersWith returns the device numbers in a devices folder, and whether name is among
// its entries.
func membersWith(dir string, entries []os.DirEntry, name string) (members []string, ok bool) {
	for _, e := range entries {
		ok = ok || e.Name() == name
		members = append(members, text(filepath.Join(dir, e.Name()), "dev"))
	}
	return members, ok
}
