// Package explain says of a path where its limits go, which ways of writing they hold, what escapes
// them, and what can be done instead.
//
// The kernel charges every I/O to the control group that it was submitted from, and
// holds it back at the queue of a device. Three things follow. A limit of bandwidth or IOPS
// belongs on the block device right under the file system, since what is further down may be
// submitted by a thread of the kernel, in the root group. A weight belongs on the disk at the
// bottom, since only devices with queues of their own share them out. And a write that
// stays in the page cache is submitted later, by the flusher: whether it is charged to the writer
// depends on the version of the groups and on the file system.
//
// Easily got wrong: I/O that is charged right at the top may be charged to no group one layer below (a buffered
// loop device, RAID 5), and st_dev and partitions are no devices that take a limit.
//
// The rules are those of the kernel's Documentation/admin-guide/cgroup-v2.rst ("Writeback") and
// cgroup-v1/blkio-controller.rst. The tests of this package hold them against the kernel that they
// run on: Linux 6.18 with version 1 and Linux 6.1 with version 2, when they were written.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
)

// A Verdict says how much of what a container does a limit holds.
type Verdict string

// Verdicts.
const (
	// Held: all of it.
	Held Verdict = "held"
	// Late: all of it, once the memory that unwritten data may take is full.
	Late Verdict = "late"
	// Partly: some of it is charged to nobody, or it depends on what can't be seen.
	Partly Verdict = "partly"
	// Leaks: none of it that matters.
	Leaks Verdict = "leaks"
	// Never: the container can't do this here.
	Never Verdict = "never"
)

// rank orders verdicts by how much escapes.
var rank = map[Verdict]int{Held: 0, Late: 1, Partly: 2, Leaks: 3}

// worse returns the verdict by which more escapes.
func worse(a, b Verdict) Verdict {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// A Spot is a block device that a hard limit goes on.
type Spot struct {
	Name  string `json:"name"`
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
	// MaxIO is how many bytes one I/O has at most there; a larger one counts as several. 0: unknown.
	MaxIO int64 `json:"max_io,omitempty"`
	// ReadsOnly is set where only what was never written since the container was made is
	// read from: a lower folder of an overlay on another device.
	ReadsOnly bool `json:"reads_only"`
	// MQ is set where it has request queues of its own (blk-mq), at which the kernel holds io.latency.
	MQ bool `json:"-"`
	// Why is the reason why it is this device, where that is no matter of course.
	Why string `json:"why,omitempty"`
}

// Number is the device's.
func (s Spot) Number() device.Number { return device.Number{Major: s.Major, Minor: s.Minor} }

// An Explanation is all that is known about the limits of one path.
type Explanation struct {
	Path string `json:"path"`
	// Possible is set if anything that a container does there can be held to a limit. Otherwise Why says
	// why not, and Instead what can be done.
	Possible bool   `json:"possible"`
	Why      string `json:"why,omitempty"`
	Instead  string `json:"instead,omitempty"`
	// Hard are the devices that limits of bandwidth and IOPS go on. Each gets the whole limit.
	Hard []Spot `json:"hard"`
	// Weights are the disks that weights go on.
	Weights []Weight `json:"weights"`
	// Modes are the ways to read and write, and what is held of each.
	Modes []Mode `json:"modes"`
	// Notes are further things to know, each a sentence.
	Notes []string `json:"notes"`
	// Tree is what the path stands on, from the mount to the disks.
	Tree *Layer `json:"tree"`

	// others are where other data on a device of Hard is mounted.
	others []string
	// several is what Several says, and mend what Mend does.
	several, mend string
}

// Others lists where other data on the devices of the path's limits is mounted: whom a limit for a whole device slows down too.
// It is empty for a path that is all that there is on its device.
func (e *Explanation) Others() []string { return slices.Clone(e.others) }

// Path explains a path that exists, or a block device's node.
func (h *Host) Path(path string) (*Explanation, error) {
	s, err := h.fs.Of(path)
	if err != nil {
		return nil, err
	}
	return h.stack(path, s), nil
}

// Inside explains a path that a container was found to have on a mount: path is what it is called.
func (h *Host) Inside(path string, pid, mountID int) (*Explanation, error) {
	s, err := h.fs.OfInside(pid, mountID)
	if err != nil {
		return nil, err
	}
	return h.stack(path, s), nil
}

// Own reports whether the path has its one device to itself: it is the mount point of the device's only file system, and shows
// the whole of it. A limit for the device slows nobody else down then. A folder of a file system, such as a volume below
// /var/lib/docker, shares its device with the other folders, also where that file system has a disk of its own.
func (e *Explanation) Own() bool { return e.Possible && len(e.Hard) == 1 && len(e.others) == 0 }

// stack explains what a path was found to stand on.
func (h *Host) stack(path string, s *device.Stack) *Explanation {
	e := &Explanation{Path: path}
	data := s.Tree.Data()
	e.Hard = spots(s.Tree)
	e.Tree = h.layers(s.Tree)
	switch {
	case len(e.Hard) == 0:
		e.Why, e.Instead = s.Why, instead(s.Tree)
		return e
	case h.IO == 0 || !h.rates():
		a := h.Rates()
		e.Why, e.Instead = a.Why, a.Fix
		return e
	}
	e.Modes = h.modes(s, data)
	e.Possible = slices.ContainsFunc(e.Modes, func(m Mode) bool { return m.Group != Leaks && m.Group != Never })
	if !e.Possible {
		e.Why, e.Instead = e.Modes[0].Why, instead(data)
		e.Hard = nil
		return e
	}
	e.Tree.mark(e.Hard)
	e.Weights = h.weights(e.Tree)
	e.others = h.others(path, s.Tree, e.Hard)
	e.Notes = h.notes(e, data)
	if len(s.Devices) == 0 && !readOnly(s.Tree) {
		e.Notes = append(e.Notes, "Writes have no limit: "+instead(s.Tree)+".")
	}
	return e
}

// spots lists where the hard limits of a mount go: the whole disk of a partition, each member of
// a btrfs, and what an overlay only reads from.
func spots(n *device.Node) []Spot {
	var list []Spot
	add := func(n *device.Node, reads bool) {
		tops, _ := n.Tops()
		for _, top := range tops {
			d := top.Disk().Device
			if slices.ContainsFunc(list, func(s Spot) bool { return s.Name == d.Name }) {
				continue
			}
			s := Spot{Name: d.Name, Major: d.Major, Minor: d.Minor, MaxIO: d.MaxIO, MQ: d.MQ, ReadsOnly: reads}
			switch {
			case top.Kind == device.KindPartition:
				s.Why = top.Name + " is a partition: the kernel takes limits on whole disks only"
			case top.Role == device.RoleMember && len(tops) > 1:
				s.Why = "one of the devices that the btrfs spreads its data over"
			case top.Role == device.RoleRealtime:
				s.Why = "the realtime section of the xfs: files in it are not on the other device"
			}
			list = append(list, s)
		}
	}
	add(n, false)
	for _, b := range n.Below {
		if b.Role == device.RoleLower {
			add(b, true)
		}
	}
	return list
}

// notes says what else there is to know.
func (h *Host) notes(e *Explanation, data *device.Node) []string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if n := members(data); n > 1 {
		e.several = fmt.Sprintf("Each of the %d devices gets the limit. %s", n, spread(data.Level, n))
		add("%s", e.several)
	}
	if slices.ContainsFunc(e.Modes, func(m Mode) bool { return m.Group == Late }) {
		add("Set a memory limit too: until the unwritten data of a container fills its share of memory, its buffered writes go at the speed of memory.")
	}
	if slices.ContainsFunc(e.Modes, func(m Mode) bool { return m.Device == Held }) {
		names := strings.Join(hardNames(e.Hard), ", ")
		if len(e.others) == 0 {
			add("A limit in the root group for %s holds the writes that escape the container's own limit, and no other data is written there. The two limits add up: version 1 has no common one.", names)
		} else {
			add("A limit in the root group for %s would hold the writes that escape, but it would slow down all buffered writes to the device, those of other data too (%s). Give the volume a device of its own, such as a logical volume or a loop device.", names, strings.Join(e.others, ", "))
		}
	}
	if h.IO == 2 && len(hardNames(e.Hard)) > 0 && slices.ContainsFunc(e.Modes, func(m Mode) bool { return m.Name == Buffered && m.Group == Leaks }) {
		e.mend = "boot with cgroup_no_v1=all: with the memory controller in version 2 as well, buffered writes are charged to the group that wrote"
		if h.Memory == 2 {
			e.mend = "use ext4 without data=journal, xfs, btrfs or f2fs for the volume: they charge writes to the group that wrote"
		}
		add("%s%s.", strings.ToUpper(e.mend[:1]), e.mend[1:])
	}
	for _, b := range data.Below {
		if b.Role == device.RoleLog {
			add("The file system's log is on %s, and no limit applies there: a thread of the kernel writes it for all groups.", b.Name)
		}
	}
	return notes
}

// hardNames lists the devices that are written to.
func hardNames(spots []Spot) (names []string) {
	for _, s := range spots {
		if !s.ReadsOnly {
			names = append(names, s.Name)
		}
	}
	return names
}

// Several says what a limit on each of several devices lets through in all, "" where the data is on one.
func (e *Explanation) Several() string { return e.several }

// Mend says what would have version 2 hold the buffered writes that it lets past, "" where it does or nothing would.
func (e *Explanation) Mend() string { return e.mend }

// members counts the devices that a btrfs has its data on.
func members(data *device.Node) int {
	n := 0
	for _, b := range data.Below {
		if b.Role == device.RoleMember {
			n++
		}
	}
	return n
}

// spread says what n times a limit on n members lets through in all, by the profile of the data (mkfs.btrfs(8)).
func spread(profile string, n int) string {
	copies := map[string]int{"single": 1, "raid0": 1, "dup": 2, "raid1": 2, "raid10": 2, "raid1c3": 3, "raid1c4": 4}[profile]
	switch {
	case copies == 0:
		return "How the data is spread over them decides how much goes through in all."
	case copies == 1:
		return fmt.Sprintf("With the profile %s a file is on all or on one of them: up to %d times the limit goes through in all.", profile, n)
	case copies >= n:
		return fmt.Sprintf("With the profile %s every byte is written to each of them: writes get the limit, reads up to %d times that.", profile, n)
	}
	return fmt.Sprintf("With the profile %s every byte is written %d times: writes get up to %d/%d of the limit, reads up to %d times that.", profile, copies, n, copies, n)
}
