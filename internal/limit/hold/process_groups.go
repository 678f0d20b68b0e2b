package hold

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// ProcessGroups says to which processes the limits of some keys apply, if the scope's target is a process: to all in its
// groups, which differ by controller with version 1. touches reports which keys count.
func (h *Holder) ProcessGroups(s *Scope, touches func(limit.Key) bool) (notes []string) {
	if s.Target.Kind != target.Process {
		return nil
	}
	controllers := []struct {
		of   hierarchy.Controller
		what string
		keys []limit.Key
	}{
		{hierarchy.IO, "I/O", slices.DeleteFunc(slices.Clone(limit.Keys), func(k limit.Key) bool { return !k.IO() })},
		{hierarchy.Memory, "memory", []limit.Key{limit.Memory}},
		{hierarchy.CPU, "CPUs", []limit.Key{limit.CPUs, limit.CPUShares}},
	}
	for _, p := range s.GroupSets {
		if p.DeviceWide {
			continue
		}
		var groups []*hierarchy.Group
		what := map[string][]string{}
		for _, c := range controllers {
			g, err := p.Groups.Group(c.of)
			if err != nil || !slices.ContainsFunc(c.keys, touches) {
				continue
			}
			if what[g.Path] == nil {
				groups = append(groups, g)
			}
			what[g.Path] = append(what[g.Path], c.what)
		}
		for _, g := range groups {
			limits := "the limits"
			if len(groups) > 1 {
				limits += " on " + strings.Join(what[g.Path], " and ")
			}
			notes = append(notes, fmt.Sprintf("%s apply to all of the group %s, which has %s", limits, g.Path, h.processesIn(p, g)))
		}
	}
	return notes
}

// processesIn counts the processes of a group and those below it, in words.
func (h *Holder) processesIn(p GroupSet, g *hierarchy.Group) string {
	n := 0
	below, err := h.Groups.Below(p.Groups, g)
	for _, b := range below {
		_, in, bad := inGroup(b)
		n, err = n+in, errors.Join(err, bad)
	}
	switch {
	case err != nil:
		return "an unknown number of processes"
	case n == 1:
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
