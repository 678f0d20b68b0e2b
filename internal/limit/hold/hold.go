// Package hold sets limits on a target that a user names: it finds the target's control groups and the devices of its
// data, and writes the limits to the kernel.
//
// A target's limits go on one or more sets of control groups. A container has one, with a group in each hierarchy. A volume has
// one for each container that uses it, and with version 1 also the root group, which does the writeback
// of their data. A change is planned for all of them before the first write. If the kernel refuses one, the earlier
// writes are undone.
//
// A Scope is all of that for one target: its groups, and the places of its data with the devices under them. A DeviceLimit is a device's limit
// in the root group, which applies to all users of the device. A Temporary is limits that end with the process, such as a trial's.
//
// What outlives its process is recorded before it is written, so that the next process finds it after a kill: limits in the root group
// (DeviceLimits.change, DaemonRecords.Record), disks that divide by weight (Weights.Enable), and a daemon's limits (reapply of package
// keeper).
package hold

import (
	"context"
	"slices"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/expiring"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/systemd"
)

// A Where says which of a target's data a limit is for. The zero value means all of it: a container's own layer and
// everything mounted into it.
type Where struct {
	// Volume names a volume of the container.
	Volume string
	// Path is a path in the container; for a process or group, a path of the host.
	Path string
	// Device is a block device of the host: "/dev/sda".
	Device string
	// DeviceWide holds all writes to the device, regardless of the group that they are charged to, by version 1's root
	// group. It is implied for a volume with a device of its own.
	DeviceWide bool
}

// A Holder finds targets and writes limits. Its fields are those of this machine, or of a test.
type Holder struct {
	FS      device.FS
	Finder  *target.Finder
	Groups  *cgroup.Host
	Explain *explain.Host
	// Systemd sets properties of units.
	Systemd systemd.Systemd

	// explained caches the explanations of devices that were named.
	explained expiring.Answers[deviceNode, *explain.Explanation]
}

// New returns a Holder of the machine that fs shows.
func New(fs device.FS, finder *target.Finder) (*Holder, error) {
	groups, err := cgroup.Open(fs)
	if err != nil {
		return nil, err
	}
	e, err := explain.Look(fs)
	if err != nil {
		return nil, err
	}
	h := &Holder{FS: fs, Finder: finder, Groups: groups, Explain: e}
	h.Systemd = systemd.Systemd{Systemctl: finder.Systemctl(), Device: h.diskOf}
	return h, nil
}

// diskOf returns the number of the whole disk that a path is on, or zero if it is unknown.
func (h *Holder) diskOf(path string) device.Number {
	stack, err := h.FS.Of(path)
	if err != nil || stack.Device == nil {
		return device.Number{}
	}
	return stack.Device.Number
}

// A Place is where a target has data, with the devices under it. Limits on I/O to this data are set on these devices.
type Place struct {
	// Name says what it is: "volume data", "its own layer", "/srv".
	Name string `json:"name"`
	// Path is the path in the container; for a volume, the path of the host.
	Path string `json:"path,omitempty"`
	// Explanation says where limits go and what escapes them.
	Explanation *explain.Explanation `json:"explanation"`
}

// A GroupSet is the control groups of one container, process or unit, one in each hierarchy; or the root group.
type GroupSet struct {
	// Name says what it is: "container web", "the root group".
	Name string `json:"name"`
	// Groups are its control groups.
	Groups *cgroup.Target `json:"-"`
	// Target is the container, nil for the root group.
	Target *target.Target `json:"-"`
	// DeviceWide is set for the root group, which takes rates only.
	DeviceWide bool `json:"device_wide"`
	// For is the target whose limits in the root group these are, if they were set earlier; "" for the target's own
	// groups.
	For string `json:"for,omitempty"`
	// Unit is the systemd unit that created the groups, "" if none did. It is given the limits as well, because systemd
	// writes them again at a daemon-reload.
	Unit string `json:"unit,omitempty"`
}

// A Scope is a target as found by its reference.
type Scope struct {
	Target    target.Target `json:"target"`
	GroupSets []GroupSet    `json:"group_sets"`
	Places    []Place       `json:"places"`
	// Notes are sentences for the user.
	Notes []string `json:"notes"`

	// Unlimited says why some of the target's data can't be limited, and what can be done instead: a sentence for each.
	// That data is not in the places. A change that limits I/O adds these sentences to Notes.
	Unlimited []string `json:"-"`

	// noUnit omits which unit created the groups.
	noUnit bool
}

// Scope finds a target with its groups and, if io is set, the devices of its data.
func (h *Holder) Scope(ctx context.Context, ref target.Ref, where Where, io bool) (*Scope, error) {
	t, err := h.Finder.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	return h.scope(ctx, &Scope{Target: t}, where, io)
}

// ScopeOf is Scope for a target that was already found. It is for callers that look after the target's groups
// continually: it asks neither an engine nor systemd.
func (h *Holder) ScopeOf(t target.Target, where Where, io bool) (*Scope, error) {
	return h.scope(context.Background(), &Scope{Target: t, noUnit: true}, where, io)
}

// scope fills in a scope's groups and, if io is set, its places.
func (h *Holder) scope(ctx context.Context, s *Scope, where Where, io bool) (_ *Scope, err error) {
	t := s.Target
	if t.Elsewhere != "" {
		return nil, elsewhere(t)
	}
	s.Notes = slices.Clone(t.Notes)
	if io {
		if s.Places, err = h.places(s, where); err != nil {
			return nil, err
		}
	}
	if err := h.groupSets(ctx, s, where); err != nil {
		return nil, err
	}
	return s, nil
}

// Add adds another scope of the same target to s, with other data.
func (s *Scope) Add(o *Scope) {
	s.Target, s.noUnit = o.Target, o.noUnit
	s.GroupSets, s.Places = append(s.GroupSets, o.GroupSets...), append(s.Places, o.Places...)
	s.Notes, s.Unlimited = append(s.Notes, o.Notes...), append(s.Unlimited, o.Unlimited...)
}

// ScopeIn returns the scope of groups that are already known, and of data that was already explained; e may be nil. It
// asks no engine.
func ScopeIn(groups *cgroup.Target, data string, e *explain.Explanation) *Scope {
	s := &Scope{GroupSets: []GroupSet{{Name: groups.Name, Groups: groups}}}
	if e != nil {
		s.Places = []Place{{data, data, e}}
	}
	return s
}
