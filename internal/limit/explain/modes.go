package explain

import (
	"slices"
	"strings"

	"plimsoll/internal/host/device"
)

// Names of modes, the same as in limit verify.
const (
	// Read is a read that misses the page cache, or goes around it.
	Read = "read"
	// Direct is a write with O_DIRECT.
	Direct = "direct"
	// DSync is a write with O_DSYNC.
	DSync = "dsync"
	// BufferedSync is a buffered write that is followed by fsync.
	BufferedSync = "buffered+fsync"
	// Buffered is a write that stays in the page cache until the kernel writes it out.
	Buffered = "buffered"
)

// A Mode is a way to read or write, and how much of it limits hold.
type Mode struct {
	Name string `json:"name"`
	// Group is how much a limit in the container's own group holds.
	Group Verdict `json:"group"`
	// Device is how much is held with an additional limit in the root group for the same device. Only version 1 has
	// such limits. "": nothing more.
	Device Verdict `json:"device,omitempty"`
	Why    string  `json:"why,omitempty"`
}

// tells lists the file systems that record which group wrote their data (SB_I_CGROUPWB): ext4 (which also mounts ext2
// and ext3), xfs since Linux 5.3, and bare block devices.
var tells = []string{"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", device.RawBlock}

// journalled reports whether an ext4 writes its data to the journal first. A kernel thread does that, and such an
// ext4 doesn't record which group wrote.
func journalled(m *device.Mount) bool {
	return strings.HasPrefix(m.FSType, "ext") && m.Has("data=journal")
}

// compressed reports whether a btrfs is mounted with compression. Kernel threads compress and submit the data.
func compressed(m *device.Mount) bool {
	return m.FSType == "btrfs" && slices.ContainsFunc(strings.Split(m.Options, ","), func(o string) bool {
		return o == "compress" || strings.HasPrefix(o, "compress=") || strings.HasPrefix(o, "compress-force")
	})
}

// modes is how much of each mode is held. s is the stack that a container sees, data the mount whose file system
// writes.
func (h *Host) modes(s *device.Stack, data *device.Node) []Mode {
	read, write := Mode{Group: Covered}, h.writeRules(data.Mount)
	switch {
	case data.Mount.FSType == "fuseblk":
		read = Mode{Group: Leaks, Why: served}
	case dax(data.Mount):
		read = Mode{Group: Leaks, Why: around}
	case readOnly(s.Tree) || readOnly(data):
		write = always(Mode{Group: Never, Why: "it is mounted read-only"})
	case len(s.Devices) == 0: // An overlay with its lower folders on devices.
		read = Mode{Group: Partly, Why: "data in the lower folders is; for other data: " + s.Why}
		write = always(Mode{Group: Leaks, Why: s.Why})
	}
	read.Name = Read
	list := []Mode{read}
	for _, name := range []string{Direct, DSync, BufferedSync, Buffered} {
		m := write(name)
		m.Name = name
		list = append(list, m)
	}
	return list
}

// Reasons for reads and writes alike.
const (
	served = "the program that serves it does the I/O, in its own group"
	around = "with dax, data goes around the block layer"
)

// readOnly reports whether the mount takes no writes.
func readOnly(n *device.Node) bool {
	return n.Mount.Has("ro") || n.Mount.FSType == "overlay" && n.Mount.Upper == ""
}

// dax reports whether a file system on persistent memory bypasses the block layer.
func dax(m *device.Mount) bool { return m.Has("dax") || m.Has("dax=always") }

// writeRules picks the rules for writes to a file system.
func (h *Host) writeRules(m *device.Mount) func(mode string) Mode {
	told := slices.Contains(tells, m.FSType) && !journalled(m)
	switch {
	case m.FSType == "fuseblk":
		return always(Mode{Group: Leaks, Why: served})
	case dax(m):
		return always(Mode{Group: Leaks, Why: around})
	case told && (h.IO == 2 && h.Memory == 2 || h.ChargesV1):
		return charged
	}
	rules := h.submitter
	switch {
	case journalled(m):
		rules = h.journal
	case compressed(m):
		rules = h.compression
	case m.FSType == "btrfs":
		rules = h.early
	}
	return func(mode string) Mode {
		r := rules(mode)
		// Escaping I/O is submitted in the root group, which can have limits in version 1.
		if h.IO == 1 && r.Group != Covered {
			r.Device = Covered
		}
		return r
	}
}

func always(m Mode) func(string) Mode { return func(string) Mode { return m } }

// charged is the rule where the kernel records whose data it writes out.
func charged(mode string) Mode {
	if mode == Buffered {
		return Mode{Group: Late, Why: "the writer is slowed down when its unwritten data fills its share of memory"}
	}
	return Mode{Group: Covered}
}

// submitter is the rule where the group that submits the I/O is charged.
func (h *Host) submitter(mode string) Mode {
	switch mode {
	case BufferedSync:
		return Mode{Group: Covered, Why: "the fsync submits the data for the container; data that the kernel wrote out earlier (after 30 s, or beyond a tenth of memory) escapes"}
	case Buffered:
		return Mode{Group: Leaks, Why: h.flusher()}
	}
	return Mode{Group: Covered}
}

// early is submitter for a btrfs. Many small writes need metadata space, and to free it early, kernel threads write
// data out before the fsync. Measured on Linux 6.18: of 2,048 writes of 4 KiB with gaps between them, then one fsync,
// 95 % escaped; of 16 MiB in one piece, nothing.
func (h *Host) early(mode string) Mode {
	if mode == BufferedSync {
		return Mode{Group: Partly, Why: "the fsync submits large writes for the container; threads of btrfs write some of many small ones earlier, in the root group"}
	}
	return h.submitter(mode)
}

// flusher is the reason why the container isn't charged.
func (h *Host) flusher() string {
	switch {
	case h.IO == 1:
		return "the kernel's flusher writes the data out, in the root group (cgroup version 1)"
	case h.Memory != 2:
		return "the kernel's flusher writes the data out, in the root group: the memory controller is not in version 2"
	}
	return "the kernel's flusher writes the data out, in the root group: this file system doesn't record which group wrote the data"
}

// journal is the rule for data=journal: every byte is written twice, once by the journal's thread. Measured on Linux
// 6.18 for 16 MiB with fsync: of 32 MiB at the device, 16 were charged. With buffered writes, and with O_DIRECT,
// which it turns into buffered writes, 10 were.
func (h *Host) journal(string) Mode {
	return Mode{Group: Partly, Why: "with data=journal every byte is written twice, at least once by the journal's thread, in the root group"}
}

// compression is the rule for a btrfs with compression: its threads submit the compressed data. With version 2 they
// submit it for the writer's group; with version 1, measured on Linux 6.18, all of 16 MiB escaped in every mode.
// Direct writes are not compressed, but since Linux 6.14 those to files with checksums go through the page cache and
// are compressed (btrfs(5), "Checksumming"). Measured on Linux 6.1: 98 % of them were charged.
func (h *Host) compression(mode string) Mode {
	if mode == Direct && !h.since(6, 14) {
		return Mode{Group: Covered}
	}
	return Mode{Group: Leaks, Why: "threads of btrfs compress the data and submit it, in the root group"}
}
