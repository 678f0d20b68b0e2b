package device

import "strings"

// noDevice is the reason why a mount has no block device.
func noDevice(m Mount) string {
	src := m.Source
	switch t := m.FSType; {
	case t == "tmpfs" || t == "ramfs" || t == "devtmpfs" || t == "hugetlbfs":
		return t + " is memory"
	case t == "nfs" || t == "nfs4" || t == "cifs" || t == "smb3" || t == "ceph" || t == "afs" || t == "lustre":
		return t + ": data goes over the network to " + src
	case t == "9p" || t == "virtiofs":
		return t + ": data goes to the host's folder behind the tag " + src
	case t == "vboxsf" || t == "vmhgfs" || t == "prl_fs" || t == "drvfs":
		return t + ": data goes to the host's folder " + src
	case t == "fuse" || strings.HasPrefix(t, "fuse."):
		return t + ": data goes to the program that serves " + src
	case t == "zfs":
		return "zfs: the pool of " + src + " does its own I/O on disks that the mount doesn't name"
	case t == "bcachefs":
		return "bcachefs: " + src + " does its own I/O on disks of its choice"
	case t == "overlay" || t == "aufs":
		return t + " has no disk of its own"
	case t == "proc" || t == "sysfs" || t == "cgroup" || t == "cgroup2" || t == "devpts" || t == "mqueue" || t == "debugfs" || t == "tracefs":
		return t + " is the kernel's own, not storage"
	}
	return m.FSType + " has no block device that the kernel names (source " + src + ")"
}
