package profile

import (
	"fmt"
	"strconv"
)

// minExt4 is the least size of an image with a journal, minXFS the least that mkfs.xfs of xfsprogs 6 makes, minBtrfs that of mkfs.btrfs 6 for one disk.
const (
	minExt4  = int64(32) << 20
	minXFS   = int64(300) << 20
	minBtrfs = int64(109) << 20
)

// local keeps each volume in a disk image of its own, on a loop device.
func local() Backend {
	return Backend{Name: "local", here: Machine.Loop, rules: map[string]rule{
		"capacity":  localCapacity,
		"directory": always(enforced("the disk image is kept there")),
		"filesystem": func(q question) Ability {
			return ask(q.m.Filesystem(q.p.Filesystem), enforced("the image is formatted with it"))
		},
		"iops.min":      localGuarantee,
		"iops.max":      localMaximum("; plimsoll daemon --volumes keeps their sum below it"),
		"bandwidth.min": always(advisory("nothing sets bandwidth aside for it yet")),
		"bandwidth.max": localMaximum(""),
		"level":         oneCopy,
		"local":         always(enforced("the image is on a disk of this machine")),
		"node":          thisNode,
		"provision":     localProvision,
		"type":          diskType,
		"shared":        always(unsupported("a disk image is mounted by one machine", "use the backend nfs")),
		"interface":     always(unsupported("a disk image is mounted by one machine", "use the backend nfs")),

		"service.autoexpand":  always(enforced("the image and its file system grow while they are mounted")),
		"service.backup":      always(enforced("restic stores a snapshot of it")),
		"service.compression": onBtrfs("the file system compresses"),
		"service.dedupe":      localDedupe,
		"service.encryption": func(q question) Ability {
			return ask(q.m.Encryption(), enforced("LUKS2, by dm-crypt; the image has 16 MiB more than the capacity, for the header"))
		},
		"service.replication": localReplication,
		"service.snapshot":    localSnapshot,
	}}
}

// localFilesystem is the volume's file system.
func localFilesystem(q question) string {
	if fs := q.p.Filesystem; fs != "" {
		return fs
	}
	return Ext4
}

func localCapacity(q question) Ability {
	fs := localFilesystem(q)
	if least := map[string]int64{Ext4: minExt4, XFS: minXFS, Btrfs: minBtrfs}[fs]; q.p.Capacity < least {
		fix := "use a larger capacity"
		if fs != Ext4 && q.p.Capacity >= minExt4 {
			fix += ", or filesystem: ext4"
		}
		return unsupported(fmt.Sprintf("%s needs %s at least", fs, gigabytes.format(least)), fix)
	}
	return enforced("the disk image has this size")
}

func localProvision(q question) Ability {
	if q.p.Provision == Thick {
		return enforced("all space of the image is allocated at once")
	}
	return enforced("the image takes space as it is written, and gives back what is deleted")
}

// localMaximum is the rule of a maximum. The kernel has a limit for each direction and for each control group, so that a sum needs a
// program that watches.
func localMaximum(sum string) rule {
	return func(q question) Ability {
		version, err := q.m.Limits()
		if a, not := answered(err); not {
			if a.Level == Unsupported {
				a = advisory(a.Why)
			}
			return a
		}
		if version == 2 {
			return enforced("a limit of the volume's own device, for reads and writes each, in each topmost control group" + sum + "; not for programs in the root group")
		}
		return enforced("a limit of the volume's own device, for reads and writes each, for each container and for writeback" + sum + "; not for programs of the host in control groups of their own")
	}
}

// localGuarantee admits a guarantee that the disk has room for.
func localGuarantee(q question) Ability {
	if _, err := q.m.Limits(); err != nil {
		a, _ := answered(err)
		return advisory(a.Why)
	}
	room, err := q.m.Room(q.folder)
	if a, not := answered(err); not {
		return a
	}
	const guard = "plimsoll daemon --volumes holds the disk's other volumes back while this one is starved"
	switch sum := room.Promised + q.p.IOPS.Min; {
	case room.Disk == "":
		return advisory("the disk below " + q.folder + " isn't known")
	case room.Measured == 0:
		a := advisory(fmt.Sprintf("%s was not measured, so nobody knows whether %s fit; %s", room.Disk, thousands(sum), guard))
		a.Fix = "plimsoll fio --record --name=ceiling --directory=" + q.folder + " --rw=randrw --bs=4k --direct=1 --iodepth=32 --size=256m --runtime=10 --time_based"
		if room.Why != "" {
			a.Why += " (" + room.Why + ")"
		}
		return a
	case sum > room.Measured:
		return unsupported(fmt.Sprintf("%s carries %s as measured, of which %s are promised to other volumes", room.Disk, thousands(room.Measured), thousands(room.Promised)),
			fmt.Sprintf("ask for %s at most, or use a directory on another disk", thousands(max(0, room.Measured-room.Promised))))
	default:
		return enforced(fmt.Sprintf("provisioned %s of %s measured on %s; %s", thousands(sum), thousands(room.Measured), room.Disk, guard))
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func oneCopy(q question) Ability {
	if q.p.Level > 1 {
		return unsupported("the data is on one machine, so there is one copy", "")
	}
	return enforced("one copy")
}

func thisNode(q question) Ability {
	if here := q.m.Node(); q.p.Node != here {
		return unsupported("this machine is "+here, "make the volume on "+q.p.Node)
	}
	return enforced("this machine")
}

var diskNames = map[string]string{SSD: "an SSD", HDD: "a hard disk"}

// diskType asks the kernel, which believes the disk. A virtual one often says that it rotates.
func diskType(q question) Ability {
	_, disk, err := q.m.Below(q.folder)
	switch {
	case err != nil:
		return ask(err, Ability{})
	case disk == "":
		return advisory("the kind of disk below " + q.folder + " isn't known")
	case disk != q.p.Type:
		return unsupported("the disk below "+q.folder+" says that it is "+diskNames[disk], "use a directory on "+diskNames[q.p.Type])
	}
	return enforced("the disk below " + q.folder)
}

// onBtrfs is the rule of what only btrfs does.
func onBtrfs(why string) rule {
	return func(q question) Ability {
		if fs := localFilesystem(q); fs != Btrfs {
			return unsupported(fs+" can't", "use filesystem: btrfs")
		}
		return enforced(why)
	}
}

func localDedupe(q question) Ability {
	if localFilesystem(q) == Ext4 {
		return unsupported("ext4 can't", "use filesystem: xfs or btrfs")
	}
	return enforced("the file system stores equal data once, in the background")
}

func localReplication(q question) Ability {
	if q.p.Service.Replication.Type == Synchronous {
		return unsupported("a write does not wait for another machine", "use service.replication.type: asynchronous")
	}
	if localFilesystem(q) == Btrfs {
		return enforced("btrfs sends what has changed")
	}
	a := ask(q.m.Reflinks(q.folder), enforced("the blocks of the image that have changed are sent"))
	if a.Level == Unsupported {
		a.Fix = "use filesystem: btrfs, or a directory on xfs or btrfs"
	}
	return a
}

func localSnapshot(q question) Ability {
	if localFilesystem(q) == Btrfs {
		return enforced("a snapshot of btrfs")
	}
	a := ask(q.m.Reflinks(q.folder), enforced("the image shares its data with the snapshot (reflinks)"))
	if a.Level == Unsupported {
		a.Fix = "use filesystem: btrfs, or a directory on xfs or btrfs"
	}
	return a
}
