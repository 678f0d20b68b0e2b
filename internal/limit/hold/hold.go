// Package hold puts limits on what a user names: it joins the target, what its data lies on,
// and what the kernel is told.
//
// A target has one or more parts, each with control groups of its own: a container is one; a volume has one
// for each container that uses it, and on control groups of version 1 the root group as well, which writes back
// what they wrote (DESIGN.md, rule 4 of limiting). A change is planned for all parts before the
// first is written, and one that is refused is undone in those before it.
package hold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/device"
	"plimsoll/internal/inroot"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/target"
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

// A Holder finds and writes. Its parts are this machine's, or a test's.
type Holder struct {
	FS      device.FS
	Finder  *target.Finder
	Groups  *cgroup.Host
	Explain *explain.Host
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
	return &Holder{fs, finder, groups, e}, nil
}

// A Ground is a part of a target's data and the devices that it lies on.
type Ground struct {
	// Name says what it is: "volume data", "its own layer", "/srv".
	Name string `json:"name"`
	// Path is what the container calls it, of a volume the host.
	Path string `json:"path,omitempty"`
	// Explanation says where limits go and what escapes them.
	Explanation *explain.Explanation `json:"explanation"`
}

// A Part is one of the things that are limited for a target.
type Part struct {
	// Name says what it is: "container web", "the root group".
	Name string `json:"name"`
	// Groups are its control groups.
	Groups *cgroup.Target `json:"-"`
	// Target is the container, nil for the root group.
	Target *target.Target `json:"-"`
	// DeviceWide is set for the root group: it is told of rates alone.
	DeviceWide bool `json:"device_wide,omitempty"`
}

// A Scope is what was named, found.
type Scope struct {
	Target  target.Target `json:"target"`
	Parts   []Part        `json:"parts"`
	Grounds []Ground      `json:"grounds,omitempty"`
	// Notes are sentences to be told.
	Notes []string `json:"notes,omitempty"`
}

// An ImpossibleError says that nothing can be limited there, why, and what can be done instead.
type ImpossibleError struct {
	What, Why, Instead string
}

// Error implements error.
func (e *ImpossibleError) Error() string {
	s := fmt.Sprintf("%s can't be limited here: %s", e.What, e.Why)
	if e.Instead != "" {
		s += "; instead: " + e.Instead
	}
	return s
}

// Scope finds a target with its groups, and what its data lies on if io is set.
func (h *Holder) Scope(ctx context.Context, ref target.Ref, where Where, io bool) (*Scope, error) {
	t, err := h.Finder.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	return h.ScopeOf(t, where, io)
}

// ScopeOf is Scope of a target that was found already. No engine is asked.
func (h *Holder) ScopeOf(t target.Target, where Where, io bool) (_ *Scope, err error) {
	if t.Elsewhere != "" {
		return nil, &ImpossibleError{What: t.Ref(), Why: t.Elsewhere, Instead: "run plimsoll there"}
	}
	s := &Scope{Target: t, Notes: slices.Clone(t.Notes)}
	if io {
		if s.Grounds, err = h.grounds(t, where); err != nil {
			return nil, err
		}
	}
	if err := h.parts(s, where); err != nil {
		return nil, err
	}
	return s, nil
}

// parts finds the groups of a scope's target.
func (h *Holder) parts(s *Scope, where Where) error {
	t := &s.Target
	if t.Kind == target.Volume {
		for i := range t.Users {
			if err := h.container(s, &t.Users[i]); err != nil {
				return err
			}
		}
	} else if err := h.container(s, t); err != nil {
		return err
	}
	own := t.Kind == target.Volume && len(s.Grounds) == 1 && s.Grounds[0].Explanation.Own()
	if !where.DeviceWide && !own {
		if len(s.Parts) == 0 {
			return &ImpossibleError{What: t.Ref(), Why: "no running container uses it, and other data is on its device",
				Instead: "start a container with it, or hold the whole device with --device-wide"}
		}
		return nil
	}
	root, err := h.Groups.Device()
	switch {
	case errors.Is(err, cgroup.ErrUnsupported) && len(s.Parts) > 0:
		// Version 2 charges buffered writes to who wrote them.
		return nil
	case err != nil:
		return err
	}
	s.Parts = append(s.Parts, Part{Name: "the root group, which writes back what others wrote", Groups: root, DeviceWide: true})
	return nil
}

// container adds the part of a container, process, group or unit.
func (h *Holder) container(s *Scope, t *target.Target) error {
	var groups *cgroup.Target
	var err error
	switch t.Kind {
	case target.Container:
		groups, err = h.Groups.Find(t.PID, t.ID)
	case target.Process:
		groups, err = h.Groups.Find(t.PID, "")
		if err == nil {
			s.Notes = append(s.Notes, fmt.Sprintf("the limits are for all processes in the groups of process %d", t.PID))
		}
	case target.Cgroup:
		groups, err = h.Groups.At(t.Name)
	default:
		if len(t.Groups) == 0 {
			return fmt.Errorf("%s has no control group", t.Ref())
		}
		groups, err = h.Groups.At(t.Groups[0].Path)
	}
	if err != nil {
		return err
	}
	name := t.Ref()
	if t.Kind == target.Container {
		name = "container " + t.Name
	}
	s.Parts = append(s.Parts, Part{Name: name, Groups: groups, Target: t})
	return nil
}

// grounds finds the data that a limit is for.
func (h *Holder) grounds(t target.Target, where Where) ([]Ground, error) {
	switch {
	case where.Device != "":
		return h.hostGround(where.Device, where.Device)
	case t.Kind == target.Volume:
		m := t.Mounts[0]
		if m.Source == "" {
			return nil, &ImpossibleError{What: t.Ref(), Why: "its driver " + m.Driver + " tells no folder of it while no container has it mounted", Instead: "start a container with it"}
		}
		return h.hostGround("volume "+t.Name, m.Source)
	case where.Volume != "":
		for _, m := range t.Mounts {
			if m.Volume == where.Volume {
				return h.inside(t, "volume "+m.Volume, m.Destination)
			}
		}
		return nil, fmt.Errorf("%s has no volume %s%s", t.Ref(), where.Volume, volumesOf(t))
	case where.Path != "" && t.PID == 0:
		return h.hostGround(where.Path, where.Path)
	case where.Path != "":
		return h.inside(t, where.Path, where.Path)
	case t.PID == 0:
		return nil, fmt.Errorf("%s has no files of its own: say with --path or --device what the limit is for", t.Ref())
	}
	return h.all(t)
}

// hostGround is a path of the host.
func (h *Holder) hostGround(name, path string) ([]Ground, error) {
	e, err := h.Explain.Path(path)
	if err != nil {
		return nil, err
	}
	if !e.Possible {
		return nil, &ImpossibleError{name, e.Why, e.Instead}
	}
	return []Ground{{name, path, e}}, nil
}

// inside is a path of a container.
func (h *Holder) inside(t target.Target, name, path string) ([]Ground, error) {
	g, err := h.look(t, name, path)
	if err != nil {
		return nil, err
	}
	if e := g.Explanation; !e.Possible {
		return nil, &ImpossibleError{name, e.Why, e.Instead}
	}
	return []Ground{g}, nil
}

func (h *Holder) look(t target.Target, name, path string) (Ground, error) {
	if t.Rootfs != "" {
		e, err := h.Explain.Path(t.HostPath(path))
		if err != nil {
			return Ground{}, fmt.Errorf("%s: %w", t.Ref(), err)
		}
		return Ground{name, path, e}, nil
	}
	id, err := inroot.MountID(inroot.Of(t.PID), path)
	if err != nil {
		return Ground{}, fmt.Errorf("%s: %w", t.Ref(), err)
	}
	e, err := h.Explain.Inside(path, t.PID, id)
	if err != nil {
		return Ground{}, fmt.Errorf("%s: %w", t.Ref(), err)
	}
	return Ground{name, path, e}, nil
}

// all are a container's own layer and what is mounted into it. What can't be limited is left out, unless that
// is everything.
func (h *Holder) all(t target.Target) ([]Ground, error) {
	var list []Ground
	var first *ImpossibleError
	add := func(name, path string) error {
		g, err := h.look(t, name, path)
		if err != nil {
			return err
		}
		switch e := g.Explanation; {
		case e.Possible:
			list = append(list, g)
		case first == nil:
			first = &ImpossibleError{t.Ref() + ", " + name, e.Why, e.Instead}
		}
		return nil
	}
	root := "its own layer"
	if t.Kind != target.Container {
		root = "/"
	}
	if err := add(root, "/"); err != nil {
		return nil, err
	}
	for _, m := range t.Mounts {
		name := m.Destination
		if m.Volume != "" {
			name = "volume " + m.Volume
		}
		if err := add(name, m.Destination); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 && first != nil {
		return nil, first
	}
	return list, nil
}

// volumesOf lists what a container has, for an error.
func volumesOf(t target.Target) string {
	var names []string
	for _, m := range t.Mounts {
		if m.Volume != "" {
			names = append(names, m.Volume)
		}
	}
	if len(names) == 0 {
		return ": it has none; say with --path what the limit is for"
	}
	return ": it has " + strings.Join(names, ", ")
}
