// Package explain reports where the limits of a path go, which ways of writing they hold, what escapes them, and what
// to do about it.
//
// The kernel charges every I/O to the control group that submitted it, and throttles it at a device's queue. Three
// rules follow. A limit of bandwidth or IOPS belongs on the block device directly under the file system: a kernel
// thread in the root group may submit the I/O of devices further down. A weight belongs on the disk at the bottom,
// since only devices with their own queues divide their time by weight. And the kernel's flusher submits writes that
// stay in the page cache, later: whether it charges them to the writer depends on the cgroup version and on the file
// system.
//
// Easily got wrong: I/O that is charged correctly at the top may be charged to no group one layer below (a buffered
// loop device, RAID 5), and neither st_dev nor a partition is a device that takes a limit.
//
// The rules are those of the kernel's Documentation/admin-guide/cgroup-v2.rst ("Writeback") and
// cgroup-v1/blkio-controller.rst. The tests of this package check them on the running kernel: they were written on
// Linux 6.18 with version 1 and Linux 6.1 with version 2.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
)

// A Verdict is how much of a container's I/O a limit holds.
type Verdict string

// Verdicts.
const (
	// Covered: all of it.
	Covered Verdict = "held"
	// Late: all of it, but only once unwritten data fills the memory allowed for it.
	Late Verdict = "late"
	// Partly: some of it is charged to no container, or it depends on what can't be seen.
	Partly Verdict = "partly"
	// Leaks: next to none of it.
	Leaks Verdict = "leaks"
	// Never: the container can't do this here.
	Never Verdict = "never"
)

// rank orders verdicts by how much I/O escapes.
var rank = map[Verdict]int{Covered: 0, Late: 1, Partly: 2, Leaks: 3}

// worse returns the verdict that lets more I/O escape.
func worse(a, b Verdict) Verdict {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// A Spot is a block device that a hard limit goes on.
type Spot struct {
	Name   string        `json:"name"`
	Number device.Number `json:"number"`
	// MaxIO is the size in bytes of the largest I/O there; a larger one is split and counts as several. 0: unknown.
	MaxIO int64 `json:"max_io,omitempty"`
	// ReadsOnly marks a device that is only read: it holds a lower folder of an overlay, with files that have not
	// been written since the container was made.
	ReadsOnly bool `json:"reads_only"`
	// MQ is set where the device has its own request queues (blk-mq), where the kernel holds io.latency.
	MQ bool `json:"-"`
	// Why is the reason for this device, where it isn't obvious.
	Why string `json:"why,omitempty"`
}

// An Explanation is everything known about the limits of one path.
type Explanation struct {
	Path string `json:"path"`
	// Possible is set if limits can hold anything that a container does there. Otherwise Why says why not, and
	// Instead what can be done.
	Possible bool   `json:"possible"`
	Why      string `json:"why,omitempty"`
	Instead  string `json:"instead,omitempty"`
	// Hard are the devices for limits of bandwidth and IOPS. Each gets the whole limit.
	Hard []Spot `json:"hard"`
	// Weights are the disks for weights.
	Weights []Weight `json:"weights"`
	// Modes are the ways to read and write, and how much of each is held.
	Modes []Mode `json:"modes"`
	// Notes are further remarks, each a sentence.
	Notes []string `json:"notes"`
	// Tree is what lies under the path, from the mount to the disks.
	Tree *Layer `json:"tree"`

	// others are the mounts of other data on the devices of Hard.
	others []string
	// several and mend are the results of Several and Mend.
	several, mend string
}

// Others lists the mounts of other data on the devices of the path's limits, which a limit for a whole device also
// slows down. It is empty if the path is all that the device holds.
func (e *Explanation) Others() []string { return slices.Clone(e.others) }

// Path explains a path that exists, or a block device's node.
func (h *Host) Path(path string) (*Explanation, error) {
	s, err := h.fs.Of(path)
	if err != nil {
		return nil, err
	}
	return h.stack(path, s), nil
}

// Inside explains a path on a mount of a container. path is its name in the output.
func (h *Host) Inside(path string, pid, mountID int) (*Explanation, error) {
	s, err := h.fs.OfInside(pid, mountID)
	if err != nil {
		return nil, err
	}
	return h.stack(path, s), nil
}

// Own reports whether the path has its only device to itself: it is the mount point of the device's only file system,
// and shows all of it. A limit for the device then slows down nothing else. A folder of a file system, such as a
// volume below /var/lib/docker, shares its device with the other folders, even if that file system has its own disk.
func (e *Explanation) Own() bool { return e.Possible && len(e.Hard) == 1 && len(e.others) == 0 }

// stack explains a path by the stack of mounts and devices under it.
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

// spots lists the devices for a mount's hard limits: the whole disk of a partition, each member of a btrfs, and the
// devices of an overlay's lower folders.
func spots(n *device.Node) []Spot {
	var list []Spot
	add := func(n *device.Node, reads bool) {
		tops, _ := n.Tops()
		for _, top := range tops {
			d, why := top.Limited()
			if slices.ContainsFunc(list, func(s Spot) bool { return s.Name == d.Name }) {
				continue
			}
			s := Spot{Name: d.Name, Number: d.Number, MaxIO: d.MaxIO, MQ: d.MQ, ReadsOnly: reads}
			switch {
			case why != "":
				s.Why = why
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

// notes adds the remarks.
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
	if slices.ContainsFunc(e.Modes, func(m Mode) bool { return m.Device == Covered }) {
		names := strings.Join(hardNames(e.Hard), ", ")
		if len(e.others) == 0 {
			add("A limit in the root group for %s holds the writes that escape the container's own limit, and no other data is written there. The two limits add up: version 1 can't combine them.", names)
		} else {
			add("A limit in the root group for %s would hold the writes that escape, but it would slow down all buffered writes to the device, including those of other data (%s). Give the data a device of its own, such as a logical volume or a loop device.", names, strings.Join(e.others, ", "))
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

// hardNames lists the devices that take writes.
func hardNames(spots []Spot) (names []string) {
	for _, s := range spots {
		if !s.ReadsOnly {
			names = append(names, s.Name)
		}
	}
	return names
}

// Several says how much passes in all where each of several devices has the limit, "" where the data is on one
// device.
func (e *Explanation) Several() string { return e.several }

// Mend says how to make version 2 hold the buffered writes that escape, "" where none escape or nothing helps.
func (e *Explanation) Mend() string { return e.mend }

// members counts the devices of a btrfs.
func members(data *device.Node) int {
	n := 0
	for _, b := range data.Below {
		if b.Role == device.RoleMember {
			n++
		}
	}
	return n
}

// spread says how much passes in all with the limit on each of n members, by the data's profile (mkfs.btrfs(8)).
func spread(profile string, n int) string {
	copies := map[string]int{"single": 1, "raid0": 1, "dup": 2, "raid1": 2, "raid10": 2, "raid1c3": 3, "raid1c4": 4}[profile]
	switch {
	case copies == 0:
		return "How much passes in all depends on how the data is spread over them."
	case copies == 1:
		return fmt.Sprintf("With the profile %s a file is on all or on one of them: up to %d times the limit passes in all.", profile, n)
	case copies >= n:
		return fmt.Sprintf("With the profile %s every byte is written to each of them: writes get the limit, reads up to %d times that.", profile, n)
	}
	return fmt.Sprintf("With the profile %s every byte is written %d times: writes get up to %d/%d of the limit, reads up to %d times that.", profile, copies, n, copies, n)
}
