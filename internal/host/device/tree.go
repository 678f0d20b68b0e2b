package device

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Kind is the kind of a tree's node.
type Kind string

// Kinds of nodes.
const (
	// KindMount is a mounted file system, or the contents of a block device that a path names.
	KindMount Kind = "mount"
	// KindDisk is a block device with nothing beneath that the kernel shows.
	KindDisk Kind = "disk"
	// KindPartition is a part of the disk below it.
	KindPartition Kind = "partition"
	// KindLoop presents a file as a disk.
	KindLoop Kind = "loop"
	// KindDM is a device of the device mapper: LVM, encryption, multipath.
	KindDM Kind = "dm"
	// KindMD is a software RAID.
	KindMD Kind = "md"
	// KindBcache is a disk with another as its cache.
	KindBcache Kind = "bcache"
	// KindMultipath is the head of an NVMe namespace with several ways to it.
	KindMultipath Kind = "nvme-multipath"
	// KindPath is one of those ways. It is hidden: it has no number and takes no limit.
	KindPath Kind = "nvme-path"
)

// Roles of a node for the one above it. Most have none.
const (
	// RoleUpper is where an overlay writes.
	RoleUpper = "upper"
	// RoleLower is where an overlay reads unmodified files, if that is another mount than the upper folder's.
	RoleLower = "lower"
	// RoleMember is one of the devices of a btrfs.
	RoleMember = "member"
	// RoleLog is another device, which has the file system's journal.
	RoleLog = "log"
	// RoleRealtime is another device with data: the realtime section of an xfs.
	RoleRealtime = "realtime"
	// RoleFile is the file system with the file of a loop device.
	RoleFile = "file"
	// RoleCache and RoleBacking are the two disks of a bcache.
	RoleCache   = "cache"
	RoleBacking = "backing"
)

// RawBlock is the FSType of a "mount" that is a block device by itself, without a file system.
const RawBlock = "block"

// A Node is one layer below a path: a mount or a block device.
type Node struct {
	Kind Kind   `json:"kind"`
	Role string `json:"role,omitempty"`
	// Name is the mount point, or the kernel's name of the device.
	Name string `json:"name"`
	// Mount is nil for a device, Device for a mount. A partition's Device has the partition's number and size; the properties of its
	// queue are in the disk's, below.
	Mount  *Mount  `json:"mount,omitempty"`
	Device *Device `json:"device,omitempty"`
	// File is the file of a loop device, "" if it has none; DirectIO is set if the device bypasses the page cache of that file.
	File     string `json:"file,omitempty"`
	DirectIO bool   `json:"direct_io,omitempty"`
	// Label is the name that people gave to a device of the device mapper ("vg-data"). Maker is the program that made it: the first
	// word of its uuid, "LVM" or "CRYPT" or "mpath".
	Label string `json:"label,omitempty"`
	Maker string `json:"maker,omitempty"`
	// Targets are its device-mapper targets. Empty: they aren't known, as to any user but root.
	Targets []Target `json:"targets,omitempty"`
	// Level is the RAID level of an md ("raid5") or the profile of a btrfs's data ("raid1"), CacheMode a bcache's ("writeback").
	Level     string `json:"level,omitempty"`
	CacheMode string `json:"cache_mode,omitempty"`
	// Why is the reason why nothing is below a node that must have something below.
	Why string `json:"why,omitempty"`
	// Lost is set if anything may be below, memory too: the kernel shows no way there.
	Lost bool `json:"lost,omitempty"`
	// Below are the nodes right below this one.
	Below []*Node `json:"below,omitempty"`
}

// A Target is one target of a device of the device mapper.
type Target struct {
	// Type is the kernel's word: "linear", "crypt", "thin".
	Type string `json:"type"`
	// Level is the level of a "raid": "raid5_ls".
	Level string `json:"level,omitempty"`
}

// Data returns the mount whose file system writes to devices: that of an overlay's upper folder, or n.
func (n *Node) Data() *Node {
	for _, b := range n.Below {
		if b.Role == RoleUpper {
			return b.Data()
		}
	}
	return n
}

// Tops returns the block devices right under the file system of a mount; a partition is returned as such. A file system on several
// devices has several. If there are none, why says so.
func (n *Node) Tops() (tops []*Node, why string) {
	if n.Kind != KindMount {
		return []*Node{n}, ""
	}
	for _, b := range n.Below {
		switch b.Role {
		case RoleUpper:
			if tops, why = b.Tops(); why != "" {
				why = n.Mount.FSType + " on " + why
			}
			return tops, why
		case RoleLower, RoleLog:
		default:
			tops = append(tops, b)
		}
	}
	return tops, n.Why
}

// names lists the devices from n to the bottom, each once, without those that an overlay only reads.
func (n *Node) names() []string {
	var names []string
	var add func(*Node)
	add = func(n *Node) {
		if n.Kind != KindMount && !slices.Contains(names, n.Name) {
			names = append(names, n.Name)
		}
		for _, b := range n.Below {
			if b.Role != RoleLower && b.Role != RoleLog {
				add(b)
			}
		}
	}
	add(n)
	return names
}

// maxDepth bounds overlays on loop devices on overlays. The kernel stacks two overlays at most; loop devices can be nested further,
// but nobody does so on purpose.
const maxDepth = 16

// A tracer goes from a mount down to the disks.
type tracer struct {
	fs     FS
	mounts []Mount
	// open are the devices being traced. A device that is below itself is an error.
	open []string
}

// path traces a path without symbolic links.
func (t *tracer) path(path string, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("device under %s: more than %d file systems on top of each other", path, maxDepth)
	}
	m := find(t.mounts, path)
	if m == nil {
		return nil, fmt.Errorf("device under %s: no mount holds it", path)
	}
	return t.whole(*m, depth)
}

// whole traces a mount.
func (t *tracer) whole(m Mount, depth int) (*Node, error) {
	n := &Node{Kind: KindMount, Name: m.Point, Mount: &m}
	switch {
	case m.FSType == "overlay":
		return n, t.overlay(n, depth)
	case m.Number.Major != 0:
		return n, t.single(n, depth)
	case m.FSType == "btrfs":
		return n, t.btrfs(n, depth)
	}
	n.Why = noDevice(m)
	return n, nil
}

// single continues with the device that mountinfo names, and with those in the mount's options.
func (t *tracer) single(n *Node, depth int) error {
	m := n.Mount
	b, err := t.numbered(m.Number, depth)
	if errors.Is(err, fs.ErrNotExist) {
		n.Why = fmt.Sprintf("%s %s is on device %s, which sysfs doesn't show", m.FSType, m.Source, m.Number)
		return nil
	}
	if err != nil {
		return err
	}
	n.Below = append(n.Below, b)
	t.others(n, b.Name, depth)
	return nil
}

// others continues with the devices that a file system has besides that of its mount. A name of a device that is gone, or of another
// root, is no error of the path.
func (t *tracer) others(n *Node, disk string, depth int) {
	names := map[string]string{}
	switch n.Mount.FSType {
	case "xfs": // See xfs(5).
		names[RoleLog], names[RoleRealtime] = option(n.Mount.Options, "logdev"), option(n.Mount.Options, "rtdev")
	case "ext4", "ext3":
		names[RoleLog] = t.fs.ext4Journal(disk)
	}
	for _, role := range []string{RoleLog, RoleRealtime} {
		if number, ok := BlockNode(names[role]); ok {
			if b, err := t.numbered(number, depth); err == nil {
				b.Role = role
				n.Below = append(n.Below, b)
			}
		}
	}
}

// ext4Journal returns the device with the journal of an ext4, if it is another. Only the name of the journal's kernel thread has it:
// "jbd2/" and the name of the device. A journal within the file system adds "-" and its inode (fs/jbd2/journal.c).
func (f FS) ext4Journal(disk string) string {
	thread := Text(f.Sys, "fs", "ext4", disk, "journal_task")
	if thread == "" {
		return ""
	}
	name, ok := strings.CutPrefix(Text(f.Proc, thread, "comm"), "jbd2/")
	if !ok || strings.HasPrefix(name, disk+"-") {
		return ""
	}
	return "/dev/" + name
}

// overlay continues with the upper folder, where writes go, and with those lower folders that are on other mounts, which are read.
func (t *tracer) overlay(n *Node, depth int) error {
	upper := n.Mount.Upper
	switch {
	case upper == "":
		n.Why = "overlay without an upper folder is read-only"
	case !filepath.IsAbs(upper):
		if upper = cmp.Or(dockerUpper(*n.Mount), t.relativeUpper(*n.Mount)); upper == "" {
			n.Why = fmt.Sprintf("overlay's upper folder %q is a relative name: only the program that mounted it knows where it is", n.Mount.Upper)
			n.Lost = true
		}
	}
	seen := 0
	if n.Why == "" {
		b, err := t.path(upper, depth+1)
		if err != nil {
			return fmt.Errorf("overlay at %s: %w", n.Mount.Point, err)
		}
		b.Role = RoleUpper
		n.Below = append(n.Below, b)
		seen = b.Mount.ID
	}
	t.lower(n, seen, depth)
	return nil
}

// lower adds the mounts of the lower folders, each once. They are shown beside the upper one, so one that can't be traced is left
// out.
func (t *tracer) lower(n *Node, upper, depth int) {
	seen := []int{upper}
	for _, l := range n.Mount.Lower {
		if !filepath.IsAbs(l) {
			continue
		}
		if m := find(t.mounts, l); m == nil || slices.Contains(seen, m.ID) {
			continue
		}
		if b, err := t.path(l, depth+1); err == nil {
			b.Role = RoleLower
			n.Below = append(n.Below, b)
			seen = append(seen, b.Mount.ID)
		}
	}
}

// dockerUpper resolves the relative upper folder of Docker's overlays with many layers, whose absolute names don't fit into a page:
// Docker mounts ID/merged from inside its own folder with upperdir=ID/diff (daemon/graphdriver/overlay2). It returns "" if the mount
// doesn't look like that, or if the folder isn't there.
func dockerUpper(m Mount) string {
	at := filepath.Dir(m.Point)
	if filepath.Base(m.Point) != "merged" || m.Upper != filepath.Base(at)+"/diff" {
		return ""
	}
	upper := filepath.Join(filepath.Dir(at), m.Upper)
	if st, err := os.Stat(upper); err != nil || !st.IsDir() {
		return ""
	}
	return upper
}
