package disktest

// BlockFiles is the sysfs of a machine with an NVMe disk in two partitions, an encrypted volume on the second one, a loop device on
// a file in it, and two disks under one btrfs. The values are from real machines.
func BlockFiles() map[string]string {
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

// BlockMounts is the mountinfo of that machine.
const BlockMounts = `1 0 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro
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

// StackFiles is the sysfs of stacked devices. The layout is that of a virtual machine with Linux 6.1 that had each of them, except
// those of bcache and NVMe, which follow the kernel's documentation and source (admin-guide/bcache.rst, and
// drivers/nvme/host/multipath.c).
func StackFiles() map[string]string {
	files := BlockFiles()
	disk := func(name, number string) {
		files["sys/dev/block/"+number] = "-> sys/devices/pci/" + name
		files["sys/devices/pci/"+name+"/dev"] = number + "\n"
		files["sys/devices/pci/"+name+"/mq/0/cpu_list"] = "0\n"
		files["sys/devices/pci/"+name+"/queue/max_sectors_kb"] = "1280\n"
	}
	virtual := func(name, number string, more map[string]string, slaves ...string) {
		dir := "sys/devices/virtual/block/" + name
		files["sys/dev/block/"+number] = "-> " + dir
		files[dir+"/dev"] = number + "\n"
		for k, v := range more {
			files[dir+"/"+k] = v
		}
		for _, s := range slaves {
			at := "sys/devices/virtual/block/" + s
			if _, ok := files["sys/devices/pci/"+s+"/dev"]; ok {
				at = "sys/devices/pci/" + s
			}
			files[dir+"/slaves/"+s] = "-> " + at
		}
	}
	dm := func(name, label, uuid string) map[string]string {
		return map[string]string{"dm/name": label + "\n", "dm/uuid": uuid + "\n", "dm/suspended": "0\n"}
	}
	for name, number := range map[string]string{"sdd": "8:48", "sde": "8:64", "sdf": "8:80", "sdg": "8:96"} {
		disk(name, number)
	}
	virtual("dm-1", "253:1", dm("dm-1", "vg-data", "LVM-AAAA"), "sdd", "sde")
	virtual("dm-2", "253:2", dm("dm-2", "vg-pool_tmeta", "LVM-BBBB-tmeta"), "sdd")
	virtual("dm-3", "253:3", dm("dm-3", "vg-pool_tdata", "LVM-CCCC-tdata"), "sde")
	virtual("dm-4", "253:4", dm("dm-4", "vg-pool-tpool", "LVM-DDDD-tpool"), "dm-2", "dm-3")
	virtual("dm-5", "253:5", dm("dm-5", "vg-thin", "LVM-EEEE"), "dm-4")
	virtual("dm-6", "253:6", dm("dm-6", "mpatha", "mpath-3600a"), "sdf", "sdg")
	virtual("dm-7", "253:7", dm("dm-7", "mpatha-part1", "part1-mpath-3600a"), "dm-6")
	virtual("md0", "9:0", map[string]string{"md/level": "raid5\n", "md/array_state": "clean\n"}, "sdd", "sde", "sdf")
	virtual("bcache0", "252:0", map[string]string{"bcache/cache_mode": "writethrough [writeback] writearound none\n"}, "sdf", "sdg")
	files["sys/devices/pci/sdg/bcache/set/uuid"] = "u\n"
	files["sys/devices/pci/sdf/bcache/cache_mode"] = "writethrough [writeback] writearound none\n"
	virtual("zd0", "230:0", nil)
	virtual("loop5", "7:5", map[string]string{"loop/backing_file": "/fixture/shm/gone.img (deleted)\n", "loop/dio": "1\n"})
	virtual("loop6", "7:6", nil)

	sub := "sys/devices/virtual/nvme-subsystem/nvme-subsys1/"
	files["sys/dev/block/259:7"] = "-> " + sub + "nvme1n1"
	files[sub+"nvme1n1/dev"] = "259:7\n"
	files[sub+"nvme1n1/nvme1n1p1/dev"] = "259:8\n"
	files[sub+"nvme1n1/nvme1n1p1/partition"] = "1\n"
	files["sys/dev/block/259:8"] = "-> " + sub + "nvme1n1/nvme1n1p1"
	for name, number := range map[string]string{"dm-8": "253:8", "dm-9": "253:9"} {
		virtual(name, number, dm(name, "vg2-"+name, "LVM-FFFF"+name))
		files["sys/devices/virtual/block/"+name+"/slaves/nvme1n1"] = "-> " + sub + "nvme1n1"
	}
	for _, c := range []string{"nvme1", "nvme2"} {
		files[sub+c] = "-> sys/devices/pci/nvme/" + c
		way := "sys/devices/pci/nvme/" + c + "/nvme1c" + c[4:] + "n1"
		files[way+"/hidden"] = "1\n"
		files[way+"/mq/0/cpu_list"] = "0\n"
		files["sys/devices/pci/nvme/"+c+"/nvme9c1n1/hidden"] = "1\n" // A path to another namespace.
	}

	files["sys/fs/btrfs/u-2/allocation/data/raid1/total_bytes"] = "1\n"
	files["sys/fs/btrfs/u-2/allocation/metadata/raid1/total_bytes"] = "1\n"
	return files
}

// StackMounts is the mountinfo of that machine.
const StackMounts = BlockMounts + `30 1 253:1 / /fixture/lv rw - ext4 /dev/mapper/vg-data rw
31 1 253:5 / /fixture/thin rw - xfs /dev/mapper/vg-thin rw
32 1 253:7 / /fixture/mpath rw - ext4 /dev/mapper/mpatha-part1 rw
33 1 9:0 / /fixture/md rw - ext4 /dev/md0 rw
34 1 252:0 / /fixture/bcache rw - ext4 /dev/bcache0 rw
35 1 230:0 / /fixture/zvol rw - ext4 /dev/zd0 rw
36 1 7:5 / /fixture/deleted rw - ext4 /dev/loop5 rw
37 1 7:6 / /fixture/unbound rw - ext4 /dev/loop6 rw
38 1 259:8 / /fixture/heads rw - xfs /dev/nvme1n1p1 rw
41 1 253:8 / /fixture/lv8 rw - xfs /dev/mapper/vg2-dm-8 rw
42 1 253:9 / /fixture/lv9 rw - xfs /dev/mapper/vg2-dm-9 rw
39 1 0:60 / /fixture/mixed rw - overlay overlay rw,lowerdir=/fixture/lv/a:/fixture/lv/b:/fixture/md/c:/fixture/thin/l:rel,upperdir=/fixture/thin/u,workdir=/w
40 1 0:61 / /fixture/readonly ro - overlay overlay ro,lowerdir=/fixture/lv/a:/fixture/md/c
`
