package explain

import (
	"strings"

	"plimsoll/internal/host/device"
)

// instead says what to do where a mount can't be limited.
func instead(n *device.Node) string {
	m := n.Data().Mount
	const image = "a disk image on it, bound to a loop device, takes limits"
	switch t := m.FSType; {
	case t == "overlay" && m.Upper != "":
		return "name the upper folder itself"
	case t == "tmpfs" || t == "ramfs" || t == "devtmpfs" || t == "hugetlbfs":
		return "its size and the container's memory limit bound how much is written, but nothing limits how fast: put the data on a disk"
	case t == "nfs" || t == "nfs4" || t == "cifs" || t == "smb3" || t == "afs" || t == "lustre":
		return "limit it at the server, or the network of this machine; " + image
	case t == "ceph":
		return "limit it at the cluster; an RBD image is a block device and takes limits"
	case t == "9p" || t == "virtiofs" || t == "vboxsf" || t == "vmhgfs" || t == "prl_fs" || t == "drvfs":
		return "limit the program on the host that serves it; a virtual disk takes limits here; " + image
	case t == "fuse" || t == "fuseblk" || strings.HasPrefix(t, "fuse."):
		return "limit the group of the program that serves it, for all its users; " + image
	case t == "zfs":
		return "use a volume (zvol) of the pool, which is a block device and takes limits"
	case t == "bcachefs":
		return image
	case m.Has("dax") || m.Has("dax=always"):
		return "mount it without dax"
	case t == "btrfs" || m.Number.Major != 0:
		return "look from the host, where sysfs shows the device, or name the device itself"
	}
	return "containers keep no data there"
}
