package hold

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/systemd"
	"plimsoll/internal/text/refusal"
)

// groupSets finds the groups of a scope's target.
func (h *Holder) groupSets(ctx context.Context, s *Scope, where Where) error {
	t := &s.Target
	if t.Kind == target.Volume {
		for i := range t.Users {
			if err := h.container(ctx, s, &t.Users[i]); err != nil {
				return err
			}
		}
	} else if err := h.container(ctx, s, t); err != nil {
		return err
	}
	own := t.Kind == target.Volume && len(s.Places) == 1 && s.Places[0].Explanation.Own()
	if !where.DeviceWide && !own {
		if len(s.GroupSets) == 0 {
			return unused(s)
		}
		return nil
	}
	root, err := h.Groups.Device()
	switch {
	case errors.Is(err, cgroup.ErrUnsupported) && len(s.GroupSets) > 0:
		// Version 2 charges buffered writes to the group of the writer.
		return nil
	case err != nil:
		return err
	}
	s.GroupSets = append(s.GroupSets, GroupSet{Name: rootGroup, Groups: root, DeviceWide: true})
	return nil
}

// rootGroup is the name of the root group in texts.
const rootGroup = "the root group, which does the writeback of other groups"

// HoldsOthers returns a sentence on who else is slowed down by a limit in the root group; "" if the scope has none
// there, or if its devices have no other user.
func (s *Scope) HoldsOthers() string {
	others := s.others()
	if len(others) == 0 || !s.HasRootGroup() {
		return ""
	}
	return fmt.Sprintf("the limit in the root group holds all buffered writes to %s, which has other data too: %s", strings.Join(s.written(), ", "), strings.Join(others, ", "))
}

// unused explains why a volume that no container uses can't be limited.
func unused(s *Scope) error {
	others := s.others()
	e := &refusal.Error{Act: refusal.Limited, What: s.Target.Ref(), Why: "no running container uses it", Fix: "start a container with the volume"}
	if len(others) > 0 {
		e.Why += fmt.Sprintf(", and other data is on its device (%s)", strings.Join(others, ", "))
	}
	// Slowing down the whole machine is no advice.
	if !slices.Contains(others, "/") {
		e.Fix += ", or limit all writes to the device, of all programs, with --device-wide"
	}
	return e
}

// others lists where other data on the devices of a scope is.
func (s *Scope) others() []string {
	var list []string
	for _, g := range s.Places {
		for _, point := range g.Explanation.Others() {
			if !slices.Contains(list, point) {
				list = append(list, point)
			}
		}
	}
	return list
}

// written names the devices of a scope that writes go to.
func (s *Scope) written() []string {
	var names []string
	for _, d := range s.Devices() {
		if !d.ReadsOnly {
			names = append(names, d.Name)
		}
	}
	return names
}

// container adds the groups of a container, process, group or unit, with the systemd unit that created them.
func (h *Holder) container(ctx context.Context, s *Scope, t *target.Target) error {
	p, err := h.groupSet(t)
	if err != nil {
		return err
	}
	if !s.noUnit {
		p.Unit = h.unitOf(ctx, s, t)
	}
	s.GroupSets = append(s.GroupSets, p)
	return nil
}

// groupSet returns the groups of a container, process, group or unit, as the kernel shows them.
func (h *Holder) groupSet(t *target.Target) (GroupSet, error) {
	var groups *cgroup.Target
	var err error
	switch t.Kind {
	case target.Container:
		groups, err = h.Groups.Find(t.PID, t.ID, t.CgroupsPath())
	case target.Process:
		groups, err = h.Groups.Find(t.PID, "", "")
	case target.Cgroup:
		groups, err = h.Groups.At(t.Name)
	default:
		if len(t.Groups) == 0 {
			return GroupSet{}, fmt.Errorf("%s has no control group", t.Ref())
		}
		groups, err = h.Groups.At(t.Groups[0].Path)
	}
	if err != nil {
		return GroupSet{}, err
	}
	name := t.Ref()
	if t.Kind == target.Container {
		name = "container " + t.Name
	}
	return GroupSet{Name: name, Groups: groups, Target: t}, nil
}

// unitOf returns the unit that created a target's groups, or "".
func (h *Holder) unitOf(ctx context.Context, s *Scope, t *target.Target) string {
	if t.Kind == target.Unit {
		return t.Name
	}
	if t.Kind == target.Process {
		// The target shares its groups with others; the program that created the groups manages them.
		return ""
	}
	name := systemd.Of(t.Groups)
	if name == "" {
		return ""
	}
	for _, g := range t.Groups {
		if path.Base(g.Path) == name && h.Systemd.Owns(ctx, name, g.Path) {
			return name
		}
	}
	s.Notes = append(s.Notes, fmt.Sprintf("the group of %s is named as a systemd unit (%s) that the system's systemd does not know: if a user's systemd manages it, its daemon-reload may remove the limits", t.Ref(), name))
	return ""
}
