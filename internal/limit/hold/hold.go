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

// A Where says which of a target's data a limit is for. The zero value means all that it has: a container's own
// layer and what is mounted into it.
type Where struct {
	// Volume names a volume of the container.
	Volume string
	// Path is a path of the container; of a process or group, of the host.
	Path string
	// Device is a block device of the host: "/dev/sda".
	Device string
	// DeviceWide holds all writes to the device, whoever they are charged to: version 1's
	// root group. For a volume with a device of its own that goes without saying.
	DeviceWide bool
}

// A Holder finds and writes. Its fields are this machine's, or a test's.
type Holder struct {
	FS      device.FS
	Finder  *target.Finder
	Groups  *cgroup.Host
	Explain *explain.Host
	// Systemd sets properties of units.
	Systemd systemd.Systemd

	// recent is what devices that were named were found to be.
	recent expiring.Answers[deviceNode, *explain.Explanation]
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

// diskOf is the number of the whole disk that a path is on, zero if that isn't known.
func (h *Holder) diskOf(path string) device.Number {
	stack, err := h.FS.Of(path)
	if err != nil || stack.Device == nil {
		return device.Number{}
	}
	return stack.Device.Number()
}

// A Place is where a target has data, with the devices under it, on which limits on I/O to this data are set.
type Place struct {
	// Name says what it is: "volume data", "its own layer", "/srv".
	Name string `json:"name"`
	// Path is what the container calls it, of a volume the host.
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
	// DeviceWide is set for the root group: it is told of rates alone.
	DeviceWide bool `json:"device_wide"`
	// For is whose limits in the root group they are, where they were set for a target before; "" for the target's own groups.
	For string `json:"for,omitempty"`
	// Unit is the unit of systemd that has made the groups, "" if none has. Limits are given to it as well: at a
	// daemon-reload systemd writes them again.
	Unit string `json:"unit,omitempty"`
}

// A Scope is what was named, found.
type Scope struct {
	Target    target.Target `json:"target"`
	GroupSets []GroupSet    `json:"parts"`
	Places    []Place       `json:"grounds"`
	// Notes are sentences to be told.
	Notes []string `json:"notes"`

	// Unlimited says of the data that was left out of the places why it can't be limited, and what can be done instead: a sentence
	// each. A change that limits I/O has them in Notes.
	Unlimited []string `json:"-"`

	// noUnit leaves out which unit made the groups.
	noUnit bool
}

// Scope finds a target with its groups, and what its data lies on if io is set.
func (h *Holder) Scope(ctx context.Context, ref target.Ref, where Where, io bool) (*Scope, error) {
	t, err := h.Finder.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	return h.scope(ctx, &Scope{Target: t}, where, io)
}

// ScopeOf is Scope of a target that was found already, for who looks after its groups all the time: no engine is asked, nor is
// systemd for the unit that has made them.
func (h *Holder) ScopeOf(t target.Target, where Where, io bool) (*Scope, error) {
	return h.scope(context.Background(), &Scope{Target: t, noUnit: true}, where, io)
}

// scope fills in a scope's groups, and its places if io is set.
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

// ScopeIn is the scope of groups that are known already, and of data that was explained, nil for none. It asks no engine.
func ScopeIn(groups *cgroup.Target, data string, e *explain.Explanation) *Scope {
	s := &Scope{GroupSets: []GroupSet{{Name: groups.Name, Groups: groups}}}
	if e != nil {
		s.Places = []Place{{data, data, e}}
	}
	return s
}
