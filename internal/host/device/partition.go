package device

import "path/filepath"

// The kernel takes limits and weights on whole disks only: blkcg_conf_open_bdev in its block/blk-cgroup.c answers ENODEV for a
// partition. So a limit for data on a partition is set on the disk, and applies to all of the disk's partitions together.

// Limited returns the device that takes the limits of n: the whole disk of a partition, or else n itself. why is "" unless n is a
// partition.
func (n *Node) Limited() (d *Device, why string) {
	disk := n.Disk()
	if disk != n {
		why = noLimit(n.Name)
	}
	return disk.Device, why
}

// LimitedFolder is Limited for the folder of a block device in sysfs, without links. It returns the folder of the device that takes
// the limits.
func LimitedFolder(dir string) (disk, why string) {
	if !isPartition(dir) {
		return dir, ""
	}
	return filepath.Dir(dir), noLimit(filepath.Base(dir))
}

// Disk returns the whole disk of a partition, or else n itself.
func (n *Node) Disk() *Node {
	if n.Kind == KindPartition && len(n.Below) == 1 {
		return n.Below[0]
	}
	return n
}

// isPartition reports whether a folder of sysfs is a partition's: it is then within the disk's folder.
func isPartition(dir string) bool { return Exists(dir, "partition") }

func noLimit(partition string) string {
	return partition + " is a partition: the kernel takes limits on whole disks only"
}
