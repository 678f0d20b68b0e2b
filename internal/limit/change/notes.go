package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/text/clean"
)

// changeNotes returns what to know about a change that was made: what shares its limits, what escapes them, and who
// will set others.
func (m *Maker) changeNotes(ctx context.Context, s *hold.Scope, c limit.Change, where Options) []string {
	notes := append(m.ProcessGroups(s, c.Touches), m.besideNotes(s, c, where)...)
	if c.Set.IO() {
		if n := together(s, c.Set); n != "" {
			notes = append(notes, n)
		}
		for _, g := range s.Places {
			if n := g.Explanation.Several(); n != "" {
				notes = append(notes, g.Name+": "+n)
			}
		}
		notes = append(notes, m.otherDevice(s, where)...)
		notes = append(notes, m.escapeNotes(s, c.Set)...)
		notes = append(notes, laterNote(s, c.Set)...)
		notes = append(notes, m.elsewhere(ctx, s, where)...)
		notes = append(notes, m.deviceLimitsLeft(s, c)...)
		if w := s.HoldsOthers(); w != "" {
			notes = append(notes, w)
		}
	}
	notes = append(notes, m.leftNotes(s, c)...)
	return append(notes, m.keeperNotes(s, c)...)
}

// together says how much a volume's containers may do in total once each has the limits.
func together(s *hold.Scope, set limit.Limits) string {
	var each []limit.Limits
	for _, p := range s.GroupSets {
		if p.Target != nil && !p.DeviceWide {
			each = append(each, set)
		}
	}
	return s.Together(each)
}

// laterNote says that version 1 limits each group by itself, so a group that is created later has no limit.
func laterNote(s *hold.Scope, set limit.Limits) []string {
	for _, p := range s.GroupSets {
		if p.Target == nil || set.ReadBPS == 0 && set.WriteBPS == 0 && set.ReadIOPS == 0 && set.WriteIOPS == 0 {
			continue
		}
		if g, err := p.Groups.Group(hierarchy.IO); err == nil && g.Version == 1 {
			return []string{"a group that appears below " + p.Name + " later has no limit (control groups of version 1): only plimsoll daemon, with a policy, limits new groups"}
		}
	}
	return nil
}

// sharedDevice returns one of the devices to which the limits for a path apply as well.
func sharedDevice(e *explain.Explanation, devices []explain.Spot) (string, bool) {
	for _, d := range e.Hard {
		if !d.ReadsOnly && slices.ContainsFunc(devices, func(o explain.Spot) bool { return o.Number == d.Number && !o.ReadsOnly }) {
			return d.Name, true
		}
	}
	return "", false
}

// besideNotes say which other data of the containers the changed limits apply to, because it is on the same device.
func (m *Maker) besideNotes(s *hold.Scope, c limit.Change, where Options) (notes []string) {
	if len(s.Places) == 0 || where.Device != "" || where.Volume == "" && where.Path == "" && s.Target.Kind != target.Volume {
		return nil
	}
	for _, p := range s.GroupSets {
		if p.Target == nil || p.Target.PID == 0 {
			continue
		}
		all, err := m.Look(*p.Target)
		if err != nil {
			continue
		}
		var names, disks []string
		for _, g := range all.Places {
			if name, ok := sharedDevice(g.Explanation, s.Devices()); ok && !m.named(s, g, all.Places, where) {
				names = append(names, g.Name)
				if !slices.Contains(disks, name) {
					disks = append(disks, name)
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		verb := "has the same limits there"
		if c.Set.IsZero() {
			verb = "has lost the same limits there"
		}
		notes = append(notes, fmt.Sprintf("%s of %s: on %s as well, and %s; a group has one limit for a device, so give a volume that needs its own a device of its own", strings.Join(names, ", "), p.Name, strings.Join(disks, ", "), verb))
	}
	return notes
}

// named reports whether the scope is for a container's place g.
func (m *Maker) named(s *hold.Scope, g hold.Place, all []hold.Place, where Options) bool {
	if where.Path == "" {
		return g.Name == s.Places[0].Name
	}
	best := ""
	for _, o := range all {
		if within(where.Path, o.Path) && len(o.Path) > len(best) {
			best = o.Path
		}
	}
	return g.Path == best
}

// within reports whether p is dir or below it.
func within(p, dir string) bool {
	p, dir = path.Clean(p), path.Clean(dir)
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// escapeNotes say which writes a limit on writes lets through.
func (m *Maker) escapeNotes(s *hold.Scope, set limit.Limits) []string {
	inRoot := m.RootLimits()
	free := slices.DeleteFunc(s.Escapes(set, "--device-wide"), func(e hold.Escape) bool { return e.HeldBy(inRoot) })
	var notes hold.EscapeLines
	notes.Add("", free)
	return notes.Lines()
}

// elsewhere says that a process works on a different device than that of its root, to which limits without a place
// apply.
func (m *Maker) elsewhere(ctx context.Context, s *hold.Scope, where Options) []string {
	if s.Target.Kind != target.Process || where.Volume != "" || where.Path != "" || where.Device != "" {
		return nil
	}
	cwd, err := os.Readlink(filepath.Join(m.FS.Proc, strconv.Itoa(s.Target.PID), "cwd"))
	if err != nil {
		return nil
	}
	ref := target.Ref{Kind: target.Process, PID: s.Target.PID, Name: s.Target.Name}
	there, err := m.Scope(ctx, ref, hold.Where{Path: cwd}, true)
	if err != nil || len(there.Places) == 0 {
		return nil
	}
	if _, ok := sharedDevice(there.Places[0].Explanation, s.Devices()); ok || len(there.Devices()) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("these limits are for the device of the process's /; its working folder %s is on %s, for which --path %s sets them", cwd, there.Devices()[0].Name, clean.Shell(cwd))}
}

// deviceLimitsLeft says that the root group still has limits that were set for a target, after a change that did not include
// them.
func (m *Maker) deviceLimitsLeft(s *hold.Scope, c limit.Change) (notes []string) {
	if s.HasRootGroup() {
		return nil
	}
	all, err := m.DeviceLimits(m.Machine).List()
	if err != nil {
		return nil
	}
	for _, w := range all {
		if w.For == s.Owner() && slices.ContainsFunc(limit.Keys, func(k limit.Key) bool { return w.Limits.Has(k) && c.Set.Has(k) }) {
			notes = append(notes, fmt.Sprintf("the root group still has %s, set for %s; --device-wide changes that too", w, w.For))
		}
	}
	return notes
}

// keeperPatience is how long the daemon may take to report its state, which is needed for a note only.
const keeperPatience = 4 * time.Second

// keeperNotes say that the daemon manages the changed limits, and will set them to what its policy says.
func (m *Maker) keeperNotes(s *hold.Scope, c limit.Change) (notes []string) {
	type answer struct {
		s   *keeper.Status
		err error
	}
	got := make(chan answer, 1)
	go func() {
		s, err := m.Daemon()
		got <- answer{s, err}
	}()
	var is answer
	select {
	case is = <-got:
	case <-time.After(keeperPatience):
		is.err = errors.New("it did not answer in time")
	}
	if errors.Is(is.err, fs.ErrNotExist) {
		return nil
	}
	if is.err != nil {
		return []string{fmt.Sprintf("the daemon of %s may hold it, and change it back; that could not be found out: %v", m.Run, is.err)}
	}
	told := func(name string, held []keeper.Limit, devices []explain.Spot) {
		var words []string
		for _, h := range held {
			if c.Touches(h.Key) && (h.Device.IsZero() || len(devices) == 0 || slices.ContainsFunc(devices, func(d explain.Spot) bool { return d.Number == h.Device })) {
				words = append(words, fmt.Sprintf("%s=%s by %s", h.Key, h.Value, policy.Called(h.Rule)))
			}
		}
		if slices.Sort(words); len(words) > 0 {
			notes = append(notes, fmt.Sprintf("the daemon (process %d) holds %s to %s, and restores that at once: change its policy %s instead", is.s.PID, name, strings.Join(slices.Compact(words), ", "), is.s.Policy.Path))
		}
	}
	for _, p := range s.GroupSets {
		if p.DeviceWide {
			if is.s.RootGroup != nil {
				told("the root group", is.s.RootGroup.Held, s.Devices())
			}
			continue
		}
		for _, k := range is.s.Containers {
			if p.Target != nil && p.Target.Kind == target.Container && (p.Target.ID != "" && k.ID == p.Target.ID || k.Target == p.Target.Ref()) {
				told(p.Name, k.Held, s.Devices())
			}
		}
	}
	return notes
}
