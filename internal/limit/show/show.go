// Package show reads limits back from the kernel: the limits of a target (Reader.Target), those in the root group
// (Reader.AllDeviceLimits), and those of all groups with the program that set each (Reader.List). A limit that the kernel
// doesn't have does not exist, whatever the records say.
//
// Easily got wrong: the kernel doesn't record who set a limit. The daemon, limit set and an engine each know what they
// set; a limit is theirs only while the kernel has the same value.
package show

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
)

// A Reader reads the limits of a machine.
type Reader struct {
	*hold.Holder
	// Machine is the folder of the machine's records, and Run that of the daemon.
	Machine, Run string
	// Daemon asks the daemon for its state. The error is an fs.ErrNotExist if none runs.
	Daemon func() (*keeper.Status, error)
}

// A Shown is the limits of one group set of a target.
type Shown struct {
	GroupSet hold.GroupSet  `json:"group_set"`
	Groups   []cgroup.State `json:"groups"`
	// Above are the groups above its own that limit it as well, the nearest first.
	Above []cgroup.State `json:"above"`
	// Places says which of the target's data is on each device.
	Places map[device.Number][]string `json:"places"`
	// Stored is what the engine will set again at the container's next start.
	Stored *hold.Stored `json:"stored,omitempty"`
	// Notes say what could not be determined.
	Notes []string `json:"notes"`
}

// A DeviceLimit describes limits that were set in the root group.
type DeviceLimit struct {
	hold.DeviceLimit
	// Now is what the kernel has in the root group.
	Now limit.Limits `json:"now"`
	// Former is set if the number belonged to another device when the limits were set. Gone is set if no device has the
	// number now.
	Former bool `json:"former"`
	Gone   bool `json:"gone"`
}

// An Answer holds the limits of a target, or without a target those of the root group.
type Answer struct {
	*hold.Scope
	Shown []Shown `json:"shown"`
	// DeviceLimits are the limits that were set in the root group for the target, or without a target for any.
	DeviceLimits []DeviceLimit `json:"device_limits"`

	// name returns the name of a device.
	name func(device.Number) string
}

// Target returns the limits of a target, and those that were set for it in the root group; with deviceWide only the latter.
func (r *Reader) Target(ctx context.Context, ref target.Ref, deviceWide bool) (*Answer, error) {
	s, err := r.Scope(ctx, ref, hold.Where{}, ref.Kind == target.Volume)
	if err != nil {
		return r.gone(ref, err)
	}
	x := &Answer{Scope: s, Shown: []Shown{}, name: r.deviceName}
	records, unknown := r.DeviceLimits(r.Machine).List()
	if unknown != nil && deviceWide {
		return nil, unknown
	}
	records = slices.DeleteFunc(records, func(w hold.DeviceLimit) bool { return w.For != s.Owner() && w.Daemon == "" })
	if !deviceWide {
		if x.Shown, err = r.shown(ctx, s); err != nil {
			return nil, err
		}
	}
	if unknown != nil && len(x.Shown) > 0 {
		x.Shown[0].Notes = append(x.Shown[0].Notes, fmt.Sprintf("its limits in the root group are not known: %v", unknown))
	}
	s.Notes = append(s.Notes, r.ProcessGroups(s, func(limit.Key) bool { return true })...)
	s.Notes = append(s.Notes, together(s, x.Shown)...)
	s.Notes = append(s.Notes, r.strayNotes(x.Shown)...)
	return x, r.addDeviceLimits(x, records)
}

// gone returns the limits in the root group of a target that isn't found, with the reason why. A volume that has gone
// or is unused may nevertheless have limits there.
func (r *Reader) gone(ref target.Ref, why error) (*Answer, error) {
	records, err := r.DeviceLimits(r.Machine).For(ref)
	if err != nil || len(records) == 0 {
		return nil, why
	}
	s := &hold.Scope{Target: target.Target{Kind: ref.Kind, Engine: ref.Engine, Namespace: ref.Namespace, Name: ref.Name}, Notes: []string{why.Error()}}
	x := &Answer{Scope: s, Shown: []Shown{}, name: r.deviceName}
	return x, r.addDeviceLimits(x, records)
}

// AllDeviceLimits returns the limits that were set in the root group for any target.
func (r *Reader) AllDeviceLimits() (*Answer, error) {
	records, err := r.DeviceLimits(r.Machine).List()
	if err != nil {
		return nil, err
	}
	x := &Answer{Shown: []Shown{}, name: r.deviceName}
	return x, r.addDeviceLimits(x, records)
}

// addDeviceLimits adds limits in the root group; for a target, of the daemons' limits only those on the devices of its
// data.
func (r *Reader) addDeviceLimits(x *Answer, records []hold.DeviceLimit) (err error) {
	records = slices.DeleteFunc(records, func(w hold.DeviceLimit) bool { return w.Daemon != "" && !x.concerns(w.Device) })
	x.DeviceLimits, err = r.deviceLimitsNow(r.byRule(records))
	return err
}

// byRule names the rules of daemons as the owners of their limits.
func (r *Reader) byRule(records []hold.DeviceLimit) (all []hold.DeviceLimit) {
	for _, w := range records {
		if w.Daemon == "" {
			all = append(all, w)
		} else {
			all = append(all, keeper.ByRule(w, r.Run)...)
		}
	}
	return all
}

// shown reads the limits of the group sets of a scope. For a volume, only limits on its devices count.
func (r *Reader) shown(ctx context.Context, s *hold.Scope) ([]Shown, error) {
	all := []Shown{}
	for _, p := range s.GroupSets {
		groups, err := r.Groups.Read(p.Groups)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		if s.Target.Kind == target.Volume {
			for i := range groups {
				maps.DeleteFunc(groups[i].Devices, func(d device.Number, _ limit.Limits) bool {
					return !slices.ContainsFunc(s.Devices(), func(o explain.Spot) bool { return o.Number == d })
				})
			}
		}
		shown := Shown{GroupSet: p, Groups: groups, Places: r.places(p)}
		if p.Target != nil {
			if shown.Above, err = r.Groups.Above(p.Groups); err != nil {
				shown.Notes = append(shown.Notes, fmt.Sprintf("the limits of its parent groups are not known: %v", err))
			}
		}
		if shown.Stored, err = r.Stored(ctx, p.Target); err != nil {
			shown.Notes = append(shown.Notes, fmt.Sprintf("the limits that the engine sets at the next start are not known: %v", err))
		}
		all = append(all, shown)
	}
	return all, nil
}

// places returns which of a group set's data is on each device.
func (r *Reader) places(p hold.GroupSet) map[device.Number][]string {
	if p.Target == nil || p.Target.PID == 0 {
		return nil
	}
	s, err := r.Look(*p.Target)
	if err != nil {
		return nil
	}
	places := map[device.Number][]string{}
	for _, g := range s.Places {
		for _, d := range g.Explanation.Hard {
			n := d.Number
			name := g.Name
			if d.ReadsOnly {
				name += " (lower folders)"
			}
			places[n] = append(places[n], name)
		}
	}
	return places
}

// concerns reports whether data of the target is on a device; without a target every device counts.
func (x *Answer) concerns(d device.Number) bool {
	return x.Scope == nil || slices.ContainsFunc(x.Shown, func(s Shown) bool { return len(s.Places[d]) > 0 }) ||
		slices.ContainsFunc(x.Scope.Devices(), func(o explain.Spot) bool { return o.Number == d })
}

// deviceLimitsNow returns what the kernel has of the limits that were set in the root group.
func (r *Reader) deviceLimitsNow(records []hold.DeviceLimit) (all []DeviceLimit, err error) {
	if len(records) == 0 {
		return nil, nil
	}
	root, err := r.Groups.Device()
	if err != nil {
		return nil, err
	}
	states, err := r.Groups.Read(root)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		all = append(all, DeviceLimit{record, states[0].Devices[record.Device], record.Former, record.Gone})
	}
	return all, nil
}

// deviceName returns a device's name and number.
func (r *Reader) deviceName(d device.Number) string {
	dev, err := r.FS.Disk(d)
	if err != nil {
		return d.String()
	}
	return dev.Name + " (" + d.String() + ")"
}

// strayNotes say, for the group sets of a scope, which groups lack limits that the set's own group has.
func (r *Reader) strayNotes(shown []Shown) (notes []string) {
	now := procfs.Look("/proc")
	for _, p := range shown {
		if len(p.Groups) > 0 {
			// An error means that it has gone, which the lines of its limits say.
			more, _ := r.StrayNotes(p.GroupSet, p.Groups[0].Devices, now, r.deviceName, "set it again, or have plimsoll daemon hold it with a policy")
			notes = append(notes, more...)
		}
	}
	return notes
}

// together says how much a volume's containers may do in total, on each of its devices.
func together(s *hold.Scope, shown []Shown) (notes []string) {
	for _, d := range s.Devices() {
		var each []limit.Limits
		for _, p := range shown {
			if p.GroupSet.Target != nil && !p.GroupSet.DeviceWide && len(p.Groups) > 0 {
				each = append(each, p.Groups[0].Devices[d.Number])
			}
		}
		if n := s.Together(each); n != "" {
			notes = append(notes, "on "+d.Name+": "+n)
		}
	}
	return notes
}
