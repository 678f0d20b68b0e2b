package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/jsonlist"
)

// A limitShown is what show prints of one part with --json.
type limitShown struct {
	Part   hold.Part      `json:"part"`
	Groups []cgroup.State `json:"groups"`
	// Above are the groups above its own that hold it as well, the nearest first.
	Above []cgroup.State `json:"above"`
	// Places are what of the target's data is on each device.
	Places map[device.Number][]string `json:"places"`
	// Stored is what the engine sets again at the container's next start.
	Stored *hold.Stored `json:"stored,omitempty"`
	// Notes say what could not be found out.
	Notes []string `json:"notes"`
}

// A limitWide is what show tells of limits that were set in the root group.
type limitWide struct {
	hold.Wide
	// Now is what the kernel has there.
	Now limit.Limits `json:"now"`
	// Former is set where they were set when another device had the number, and Gone if none has it now: what they were set on has gone.
	Former bool `json:"former"`
	Gone   bool `json:"gone"`
}

// A limitShow is what show prints with --json.
type limitShow struct {
	*hold.Scope
	Shown []limitShown `json:"shown"`
	// DeviceWide are the limits that were set for the target in the root group; without a target, for any.
	DeviceWide []limitWide `json:"device_wide"`

	// loose says which of the target's groups lack its limits.
	loose []string
}

// limitShow shows the limits of what was named, or what is noted of the root group.
func (a *app) limitShow(ctx context.Context, l *limiter, args []string, run string, wide, asJSON bool) error {
	out := limitShow{Shown: []limitShown{}}
	notes, err := l.Wides(a.machine()).List()
	unknown := ""
	if len(args) > 0 {
		ref, bad := target.Parse(args[0])
		if bad != nil {
			return &exitError{exitUsage, bad}
		}
		s, fault := l.scope(ctx, args[0], limitWhere{}, isVolume(args[0]))
		if fault == nil {
			out.Scope = s
			if err != nil && !wide {
				unknown, err = fmt.Sprintf("its limits in the root group are not known: %v", err), nil
			}
			notes = slices.DeleteFunc(notes, func(w hold.Wide) bool { return w.For != s.Owner() })
		} else {
			// A volume that has gone, or isn't used, may have limits in the root group all the same.
			if notes, err = l.Wides(a.machine()).For(ref); err != nil || len(notes) == 0 {
				return fault
			}
			out.Scope = &hold.Scope{Target: target.Target{Kind: ref.Kind, Engine: ref.Engine, Namespace: ref.Namespace, Name: ref.Name}, Notes: []string{fault.Error()}}
		}
	}
	if err != nil {
		return err
	}
	if out.Scope != nil && !wide {
		if out.Shown, err = l.shown(ctx, out.Scope); err != nil {
			return err
		}
		if unknown != "" && len(out.Shown) > 0 {
			out.Shown[0].Notes = append(out.Shown[0].Notes, unknown)
		}
	}
	if out.Scope != nil {
		out.Scope.Notes = append(out.Scope.Notes, togetherShown(out.Scope, out.Shown)...)
		out.loose = l.looseNotes(out.Shown)
		out.Scope.Notes = append(out.Scope.Notes, out.loose...)
	}
	if notes, err = l.keepers(notes, out, run); err != nil {
		return err
	}
	if out.DeviceWide, err = l.wideNow(notes); err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(jsonlist.Of(out))
	}
	return a.showLimits(l, out)
}

// shown reads what the parts of a scope have. Of a volume those limits count that are on its devices.
func (l *limiter) shown(ctx context.Context, s *hold.Scope) ([]limitShown, error) {
	all := []limitShown{}
	for _, p := range s.Parts {
		groups, err := l.Groups.Read(p.Groups)
		if err != nil {
			return nil, limitError(fmt.Errorf("%s: %w", p.Name, err))
		}
		if s.Target.Kind == target.Volume {
			for i := range groups {
				maps.DeleteFunc(groups[i].Devices, func(d device.Number, _ limit.Limits) bool {
					return !slices.ContainsFunc(s.Devices(), func(o explain.Spot) bool { return o.Number() == d })
				})
			}
		}
		shown := limitShown{Part: p, Groups: groups, Places: l.places(p)}
		if p.Target != nil {
			if shown.Above, err = l.Groups.Above(p.Groups); err != nil {
				shown.Notes = append(shown.Notes, fmt.Sprintf("the limits of its parent groups are not known: %v", err))
			}
		}
		if shown.Stored, err = l.Stored(ctx, p.Target); err != nil {
			shown.Notes = append(shown.Notes, fmt.Sprintf("the limits that the engine sets at the next start are not known: %v", err))
		}
		all = append(all, shown)
	}
	return all, nil
}

// places are what of a part's data is on each device.
func (l *limiter) places(p hold.Part) map[device.Number][]string {
	if p.Target == nil || p.Target.PID == 0 {
		return nil
	}
	s, err := l.Look(*p.Target)
	if err != nil {
		return nil
	}
	places := map[device.Number][]string{}
	for _, g := range s.Grounds {
		for _, d := range g.Explanation.Hard {
			n := d.Number()
			name := g.Name
			if d.ReadsOnly {
				name += " (lower folders)"
			}
			places[n] = append(places[n], name)
		}
	}
	return places
}

// keepers adds what plimsoll daemon holds the root group to, or has left there: of a target that on the devices of its data.
func (l *limiter) keepers(notes []hold.Wide, out limitShow, run string) ([]hold.Wide, error) {
	held, err := keeper.RootGroup(l.Holder, run)
	if errors.Is(err, fs.ErrPermission) {
		return notes, nil // What another user's daemon holds is not this one's to see.
	}
	notes = slices.DeleteFunc(notes, func(w hold.Wide) bool { return w.OfDaemon(run) }) // The daemon's own notes say more.
	for _, h := range held {
		w := h.Noted()
		if out.Scope == nil || slices.ContainsFunc(out.Shown, func(s limitShown) bool { return len(s.Places[w.Device]) > 0 }) ||
			slices.ContainsFunc(out.Scope.Devices(), func(d explain.Spot) bool { return d.Number().String() == h.Device }) {
			notes = append(notes, w)
		}
	}
	return notes, err
}

// wideNow is what the kernel has of what was set in the root group.
func (l *limiter) wideNow(notes []hold.Wide) (all []limitWide, err error) {
	if len(notes) == 0 {
		return nil, nil
	}
	root, err := l.Groups.Device()
	if err != nil {
		return nil, limitError(err)
	}
	states, err := l.Groups.Read(root)
	if err != nil {
		return nil, limitError(err)
	}
	for _, n := range notes {
		all = append(all, limitWide{n, states[0].Devices[n.Device], n.Former, n.Gone})
	}
	return all, nil
}

// showLimits prints a table.
func (a *app) showLimits(l *limiter, out limitShow) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	rows := 0
	row := func(cells ...string) {
		rows++
		for i, c := range cells {
			cells[i] = clean.Line(c)
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	for _, s := range out.Shown {
		for _, g := range s.Groups {
			if !g.Limits.IsZero() {
				row(clean.Name(s.Part.Name), clean.Name(g.Group), "", limitWords(g.Limits))
			}
			for _, d := range slices.SortedFunc(maps.Keys(g.Devices), func(x, y device.Number) int { return strings.Compare(x.String(), y.String()) }) {
				row(clean.Name(s.Part.Name), clean.Name(g.Group), l.deviceName(d), limitWords(g.Devices[d]), strings.Join(s.Places[d], ", "))
			}
		}
	}
	for _, d := range out.DeviceWide {
		now := "has " + limitWords(d.Now)
		if d.Now.IsZero() {
			now = "has nothing any more"
		}
		whose := "set for " + d.For
		if when := d.When(); when != "" {
			whose += " " + when
		}
		row("device-wide, in the root group", "/", d.Disk+" ("+d.Device.String()+")", now, whose+": "+limitWords(d.Limits))
	}
	if rows == 0 {
		for _, s := range out.Shown {
			fmt.Fprintln(a.stdout, clean.Line(s.Part.Name)+": no limits"+own(s.Above))
		}
		if len(out.Shown) == 0 {
			fmt.Fprintln(a.stdout, "the root group: no limit is recorded as set there")
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range out.Shown {
		for _, g := range s.Above {
			fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf("%s: note: %s above it has %s: that holds it, too", s.Part.Name, g.Group, l.stateWords(g))))
		}
		if s.Stored != nil {
			fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf("%s: %s", s.Part.Name, s.Stored)))
		}
		for _, n := range s.Notes {
			fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf("%s: note: %s", s.Part.Name, n)))
		}
	}
	for _, d := range out.DeviceWide {
		if d.When() != "" {
			fmt.Fprintln(a.stdout, clean.Line("note: "+d.Still("")))
		}
	}
	if out.Scope == nil {
		return nil
	}
	told := append(togetherShown(out.Scope, out.Shown), out.loose...)
	if len(out.Scope.Parts) == 0 {
		told = out.Scope.Notes
	}
	for _, n := range told {
		fmt.Fprintln(a.stdout, clean.Line("note: "+n))
	}
	return nil
}

// own is what no limits are where groups above have some.
func own(above []cgroup.State) string {
	if len(above) == 0 {
		return ""
	}
	return " of its own"
}

// stateWords are the limits of a group in one line: "memory=1GiB, write_bps=4MiB on sda (8:0)".
func (l *limiter) stateWords(g cgroup.State) string {
	var words []string
	if !g.Limits.IsZero() {
		words = append(words, limitWords(g.Limits))
	}
	for _, d := range slices.SortedFunc(maps.Keys(g.Devices), func(x, y device.Number) int { return strings.Compare(x.String(), y.String()) }) {
		words = append(words, limitWords(g.Devices[d])+" on "+l.deviceName(d))
	}
	return strings.Join(words, ", ")
}

// deviceName is a device's name and number.
func (l *limiter) deviceName(d device.Number) string {
	dev, err := l.FS.Disk(d)
	if err != nil {
		return d.String()
	}
	return dev.Name + " (" + d.String() + ")"
}

// looseNotes say of the parts of a scope which groups lack limits that the part's own group has.
func (l *limiter) looseNotes(shown []limitShown) (notes []string) {
	now := procfs.Look("/proc")
	for _, p := range shown {
		if len(p.Groups) > 0 {
			// An error is that it has gone: the lines of its limits say so.
			more, _ := l.LooseNotes(p.Part, p.Groups[0].Devices, now, l.deviceName, "set it again, or have plimsoll daemon hold it with a policy")
			notes = append(notes, more...)
		}
	}
	return notes
}

// togetherShown is inAll of what containers were found to have, on each device of the volume.
func togetherShown(s *hold.Scope, shown []limitShown) (notes []string) {
	if s == nil {
		return nil
	}
	for _, d := range s.Devices() {
		var each []limit.Limits
		for _, p := range shown {
			if p.Part.Target != nil && !p.Part.DeviceWide && len(p.Groups) > 0 {
				each = append(each, onDevice(p, d))
			}
		}
		if n := inAll(s, each); n != "" {
			notes = append(notes, "on "+d.Name+": "+n)
		}
	}
	return notes
}

// onDevice is what a part's own group has on a device.
func onDevice(p limitShown, d explain.Spot) limit.Limits {
	for n, l := range p.Groups[0].Devices {
		if n == d.Number() {
			return l
		}
	}
	return limit.Limits{}
}
