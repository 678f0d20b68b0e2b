package hold

import (
	"errors"
	"fmt"

	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/target"
)

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
