package device

import (
	"path/filepath"
	"slices"
	"strings"
)

// A Layer is one step from a file system down to the hardware: a block device, or several that share the work (the members of a RAID
// or a btrfs).
type Layer struct {
	Parts []Part `json:"parts"`
	// Volatile is set if a power cut may lose data in a write cache of this layer until the layer is flushed, and the kernel counts
	// its flushes.
	Volatile bool `json:"volatile,omitempty"`
	// FUA is set if single writes can bypass that cache, without a flush.
	FUA bool `json:"fua,omitempty"`
	// Passed is set if each request to the layer above reaches this one unchanged: below a logical volume, an encrypted device or a
	// loop device. A file system between the two adds its journal; with a page cache (Cached) it reads ahead, and writes later.
	Passed bool `json:"passed,omitempty"`
	Cached bool `json:"cached,omitempty"`
	// Any is set if it isn't known which of the parts is meant: all disks of the machine, below a file system that a program serves.
	Any bool `json:"any,omitempty"`
	// On is the file system that holds the loop device's file, between the layer above and this one, with the options that keep it
	// from flushing: "ext4 (nobarrier)". Empty: there is none.
	On string `json:"on,omitempty"`
}

// A Part is one device of a layer: the whole disk if that is a partition.
type Part struct {
	Name   string `json:"name"`
	Number Number `json:"number"`
}

// Name returns the names of a layer's devices: "vda", "sda + sdb".
func (l Layer) Name() string {
	if l.Any {
		return "every disk of this machine"
	}
	names := make([]string, len(l.Parts))
	for i, p := range l.Parts {
		names[i] = p.Name
	}
	return strings.Join(names, " + ")
}

// Layers returns the layers below a path's file system, from the top down. There are none without a block device.
func (s *Stack) Layers() []Layer {
	if s.Tree == nil {
		return nil
	}
	var out []Layer
	seen := map[string]bool{}
	nodes, _ := s.Tree.Tops()
	below := Layer{} // Facts about the next layer that follow from the way to it.
	for len(nodes) > 0 {
		l, devices := below, []*Node(nil)
		for _, n := range nodes {
			// A disk that is reached in two ways does the work of both; it is listed where it is reached first.
			if n = n.Disk(); n.Device == nil || seen[n.Name] {
				continue
			}
			seen[n.Name] = true
			devices = append(devices, n)
			l.Parts = append(l.Parts, Part{n.Name, n.Device.Number})
			l.Volatile = l.Volatile || n.volatile()
			l.FUA = l.FUA || n.Device.FUA
		}
		if len(devices) > 0 {
			out = append(out, l)
		}
		nodes, below = beneath(devices)
	}
	return out
}

// Volatile returns the disks of the machine that have caches to flush, any of which may be beneath a file system that a program
// serves. None: there are no such disks. Devices stacked on them are left out, because their flushes say nothing about that program.
func (f FS) Volatile(above []Layer) []Layer {
	l := Layer{Volatile: true, Any: true}
	dirs, _ := filepath.Glob(filepath.Join(f.Sys, "block", "*"))
	for _, dir := range dirs {
		n := &Node{Kind: KindDisk, Name: filepath.Base(dir), Device: Block(dir)}
		if Exists(dir, "loop", "backing_file") {
			n.Kind = KindLoop
		}
		isAbove := slices.ContainsFunc(above, func(a Layer) bool {
			return slices.ContainsFunc(a.Parts, func(p Part) bool { return p.Name == n.Name })
		})
		if !isAbove && n.volatile() && n.Device.Size > 0 {
			l.Parts = append(l.Parts, Part{n.Name, n.Device.Number})
			l.FUA = l.FUA || n.Device.FUA
		}
	}
	if len(l.Parts) == 0 {
		return nil
	}
	return []Layer{l}
}

// volatile reports whether a device loses unflushed data at a power cut, and counts its flushes. Only devices with queues of their
// own count them. A loop device always has such a cache, the page cache of its file, whatever it reports. One path to an NVMe
// namespace has no number and counts nothing.
func (n *Node) volatile() bool {
	return n.Device.MQ && n.Kind != KindPath && (n.Device.WriteCache == "write back" || n.Kind == KindLoop)
}

// beneath returns the devices right below these, with the facts about that layer.
func beneath(devices []*Node) (nodes []*Node, l Layer) {
	l.Passed = len(devices) == 1 && devices[0].passes()
	l.Cached = slices.ContainsFunc(devices, func(n *Node) bool { return n.Kind == KindLoop && !n.DirectIO })
	for _, n := range devices {
		for _, b := range n.Below {
			if b.Kind != KindMount {
				nodes = append(nodes, b)
				continue
			}
			data := b.Data()
			l.On = data.Mount.FSType
			if o := data.Mount.unflushed(); o != "" {
				l.On += " (" + o + ")"
			}
			if data != b {
				l.On = b.Mount.FSType + " on " + l.On
			}
			tops, _ := b.Tops()
			nodes = append(nodes, tops...)
		}
	}
	l.Passed = l.Passed && len(nodes) == 1
	return nodes, l
}

// passes reports whether a device passes its requests on unchanged to the device below.
func (n *Node) passes() bool {
	switch n.Kind {
	case KindLoop:
		return true
	case KindDM:
		return len(n.Targets) > 0 && !slices.ContainsFunc(n.Targets, func(t Target) bool { return t.Type != "linear" && t.Type != "crypt" })
	}
	return false
}

// unflushed is the mount option by which a file system answers syncs without a flush, or not at all; "" for none. The options are
// from ext4(5), Documentation/filesystems/{ext4/,f2fs.rst,overlayfs.rst} and btrfs(5).
func (m *Mount) unflushed() string {
	for o := range strings.SplitSeq(m.Options, ",") {
		switch o {
		case "nobarrier", "barrier=0", "barrier=none", "volatile", "fsync_mode=nobarrier", "fsync=volatile":
			return o
		}
	}
	return ""
}

// Unflushed is the mount option by which the path's file system, or that of an overlay's upper folder, answers syncs without a
// flush; "" for none.
func (s *Stack) Unflushed() string {
	if o := s.Mount.unflushed(); o != "" || s.Tree == nil {
		return o
	}
	return s.Tree.Data().Mount.unflushed()
}

// InMemory is the reason why a place that looks like a disk is in memory: the disk's file is on tmpfs, the disk is memory itself, or
// an overlay is on tmpfs. It is empty if that isn't known, and for a path on tmpfs, which doesn't look like a disk.
func (s *Stack) InMemory() string {
	if s.Tree == nil || s.Tree.Kind == KindMount && IsMemory(s.Tree.Mount.FSType) {
		return ""
	}
	return s.Tree.inMemory(nil)
}

// JournalInMemory is the reason why a file system that holds the path's data, or a loop device's file, has its journal in memory.
// Empty: none has, or it isn't known.
func (s *Stack) JournalInMemory() string {
	if s.Tree == nil {
		return ""
	}
	return s.Tree.journalInMemory()
}

func (n *Node) journalInMemory() string {
	for _, b := range n.Below {
		why := ""
		switch b.Role {
		case RoleLower:
		case RoleLog:
			why = b.inMemory(n)
		default:
			why = b.journalInMemory()
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// Served reports whether a program serves a loop device's file (FUSE): what reaches a disk from there can't be followed.
func (s *Stack) Served() bool { return s.Tree != nil && s.Tree.served() }

func (n *Node) served() bool {
	if len(n.Below) == 0 {
		return n.Kind == KindMount && strings.HasPrefix(n.Mount.FSType, "fuse")
	}
	return slices.ContainsFunc(n.Below, func(b *Node) bool { return b.Role != RoleLower && b.Role != RoleLog && b.served() })
}

// inMemory looks for memory below n; above is what n holds the data of.
func (n *Node) inMemory(above *Node) string {
	switch {
	case n.Kind == KindMount && IsMemory(n.Mount.FSType):
		name := above.Name
		if above.Kind == KindMount {
			name = above.Mount.FSType
		}
		return "the data of " + name + " is on " + n.Mount.FSType + " (" + n.Mount.Point + ")"
	case n.Kind == KindDisk && isMemory(n):
		return n.Name + " is memory"
	}
	for _, b := range n.Below {
		if b.Role == RoleLower || b.Role == RoleLog {
			continue
		}
		if why := b.inMemory(n); why != "" {
			return why
		}
	}
	return ""
}

// Unseen says in words why what is beneath the device or the file system of a path can't be followed, and whether it may be memory. Empty: it is known
// down to the hardware, or the path itself has no device, which Why says.
func (s *Stack) Unseen() (why string, maybeMemory bool) {
	if s.Tree == nil || s.Why != "" && len(s.Devices) == 0 {
		return "", false
	}
	return s.Tree.unseen()
}

// unseen looks for an end that is no hardware below n.
func (n *Node) unseen() (why string, maybeMemory bool) {
	memory := n.Kind == KindMount && IsMemory(n.Mount.FSType) || n.Kind == KindDisk && isMemory(n)
	if len(n.Below) == 0 && n.Why != "" && !memory {
		name := n.Name
		if n.Kind == KindMount {
			name = n.Mount.FSType + " (" + n.Name + ")"
		}
		return name + ": " + n.Why, n.Lost
	}
	for _, b := range n.Below {
		if b.Role == RoleLower || b.Role == RoleLog {
			continue
		}
		if why, maybeMemory = b.unseen(); why != "" {
			return why, maybeMemory
		}
	}
	if n.Lost {
		return n.Name + ": " + n.Why, true
	}
	return "", false
}

// IsMemory reports whether a file system is memory.
func IsMemory(fs string) bool { return fs == "tmpfs" || fs == "ramfs" || fs == "devtmpfs" }

// isMemory reports whether a disk is memory by its driver: zram, brd, null_blk, scsi_debug.
func isMemory(n *Node) bool {
	return slices.Contains([]string{"zram", "ram", "nullb"}, strings.TrimRight(n.Name, "0123456789")) || n.Device.Model == "scsi_debug"
}
