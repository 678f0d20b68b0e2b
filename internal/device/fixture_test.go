package device

import (
	"maps"
	"path/filepath"
	"testing"

	"plimsoll/internal/treetest"
)

// fixture makes a small procfs and sysfs, of what treetest takes.
func fixture(t *testing.T, mountinfo string, files map[string]string) FS {
	t.Helper()
	files = maps.Clone(files)
	if files == nil {
		files = map[string]string{}
	}
	files["proc/self/mountinfo"] = mountinfo
	root := treetest.Make(t, files)
	return FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

// blockFiles is a sysfs like that of a machine with an NVMe disk in two
// partitions, an encrypted volume on the second one, a loop device on a file in it,
// and two disks under one btrfs. The values were read on real machines.
func blockFiles() map[string]string {
	return map[string]string{
		"sys/dev/block/259:0": "-> sys/devices/pci/nvme0n1",
		"sys/dev/block/259:1": "-> sys/devices/pci/nvme0n1/nvme0n1p1",
		"sys/dev/block/259:2": "-> sys/devices/pci/nvme0n1/nvme0n1p2",
		"sys/dev/block/253:0": "-> sys/devices/virtual/block/dm-0",
		"sys/dev/block/7:3":   "-> sys/devices/virtual/block/loop3",
		"sys/dev/block/8:16":  "-> sys/devices/pci/sdb",
		"sys/dev/block/8:32":  "-> sys/devices/pci/sdc",

		"sys/devices/pci/nvme0n1/dev":                      "259:0\n",
		"sys/devices/pci/nvme0n1/size":                     "1000215216\n",
		"sys/devices/pci/nvme0n1/device/model":             "SAMSUNG MZVLB512HBJQ-000L7              \n",
		"sys/devices/pci/nvme0n1/queue/rotational":         "0\n",
		"sys/devices/pci/nvme0n1/queue/scheduler":          "[none] mq-deadline \n",
		"sys/devices/pci/nvme0n1/queue/nr_requests":        "1023\n",
		"sys/devices/pci/nvme0n1/queue/write_cache":        "write back\n",
		"sys/devices/pci/nvme0n1/queue/logical_block_size": "512\n",
		"sys/devices/pci/nvme0n1/nvme0n1p1/dev":            "259:1\n",
		"sys/devices/pci/nvme0n1/nvme0n1p1/partition":      "1\n",
		"sys/devices/pci/nvme0n1/nvme0n1p2/dev":            "259:2\n",
		"sys/devices/pci/nvme0n1/nvme0n1p2/partition":      "2\n",

		"sys/devices/virtual/block/dm-0/dev":                      "253:0\n",
		"sys/devices/virtual/block/dm-0/size":                     "2048\n",
		"sys/devices/virtual/block/dm-0/dm/uuid":                  "CRYPT-LUKS2-0123-luks\n",
		"sys/devices/virtual/block/dm-0/slaves/nvme0n1p2":         "-> sys/devices/pci/nvme0n1/nvme0n1p2",
		"sys/devices/virtual/block/dm-0/queue/logical_block_size": "4096\n",

		"sys/devices/virtual/block/loop3/dev":               "7:3\n",
		"sys/devices/virtual/block/loop3/size":              "8192\n",
		"sys/devices/virtual/block/loop3/loop/backing_file": "/fixture/crypt/disk.img\n",
		"sys/devices/virtual/block/loop3/loop/dio":          "0\n",
		"sys/devices/virtual/block/loop3/queue/scheduler":   "[mq-deadline] none\n",

		"sys/devices/pci/sdb/dev":              "8:16\n",
		"sys/devices/pci/sdb/queue/rotational": "1\n",
		"sys/devices/pci/sdc/dev":              "8:32\n",

		"sys/fs/btrfs/features/x":            "1\n",
		"sys/fs/btrfs/u-1/devices/nvme0n1p1": "-> sys/devices/pci/nvme0n1/nvme0n1p1",
		"sys/fs/btrfs/u-2/devices/sdb":       "-> sys/devices/pci/sdb",
		"sys/fs/btrfs/u-2/devices/sdc":       "-> sys/devices/pci/sdc",
	}
}

const fixtureMounts = `1 0 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro
2 1 0:24 / /fixture/shm rw,nosuid,nodev - tmpfs tmpfs rw,size=64k
3 1 253:0 / /fixture/crypt rw,relatime shared:7 master:2 - xfs /dev/mapper/data rw,noquota
4 3 7:3 / /fixture/crypt/inner rw - ext4 /dev/loop3 rw
5 1 0:40 / /fixture/merged rw - overlay overlay rw,lowerdir=/l,upperdir=/fixture/crypt/inner/up,workdir=/w
6 1 0:41 / /fixture/ro ro - overlay overlay ro,lowerdir=/l1:/l2
7 1 0:42 / /fixture/rel rw - overlay overlay rw,lowerdir=l/A,upperdir=abc/diff,workdir=abc/work
8 1 0:43 / /fixture/nfs rw - nfs4 filer:/export/data rw,vers=4.2
9 1 0:44 /@home /fixture/b1 rw - btrfs /dev/nvme0n1p1 rw,compress=zstd:3,subvol=/@home
10 1 0:45 / /fixture/b2 rw - btrfs /dev/sdb rw
11 1 0:46 / /fixture/b3 rw - btrfs /dev/missing rw
12 1 0:47 / /fixture/with\040space rw - fuse.sshfs me@there:/x rw
13 1 253:0 /sub /fixture/bind rw - xfs /dev/mapper/data rw
14 1 0:48 / /fixture/merged2 rw - overlay overlay rw,lowerdir=/l,upperdir=/fixture/shm/a\054b,workdir=/w
15 1 9:99 / /fixture/gone rw - ext4 /dev/md99 rw
16 1 0:49 / /fixture/zfs rw - zfs tank/data rw
17 1 0:50 / /fixture/nine rw - 9p hostshare rw,trans=virtio
`
