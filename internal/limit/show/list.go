package show

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/policy"
)

// A Limited is one limit of the machine.
type Limited struct {
	// Target names the target that has the limit: "docker:web", "unit:backup.service", "cgroup:/backup".
	Target string `json:"target"`
	Group  string `json:"group"`
	// Device is the device's number, DeviceName the kernel's name. Both are empty for limits that don't apply to a
	// device.
	Device     device.Number `json:"device,omitzero"`
	DeviceName string        `json:"device_name,omitempty"`
	Key        limit.Key     `json:"key"`
	Value      string        `json:"value"`
	// By says who set it, if that is known: "plimsoll daemon, rule web", "plimsoll daemon, which has ended, rule web",
	// "plimsoll limit set, 2026-11-23 00:45:00", "docker 29.6 has it stored".
	By string `json:"by"`

	words string
}

// Texts for limits whose origin is not on record.
const (
	byAnybody = "not on record: another program"
	byRun     = "a trial of plimsoll run"
	bySystemd = "systemd, or another program"
)

// An owner is a container whose groups have limits, with what is known about who set them.
type owner struct {
	ref    string
	groups []string
	// held are the limits of the daemon, and ended is set if it does not run any more.
	held   []keeper.Limit
	ended  bool
	stored *hold.Stored
}

// A List is all limits of a machine.
type List struct {
	Limited []Limited `json:"limited"`
	// Notes say what could not be found out.
	Notes []string `json:"notes"`
}

// List lists the limits of all groups, and who set each.
func (r *Reader) List(ctx context.Context) (*List, error) {
	states, err := r.Groups.Limited()
	if err != nil {
		return nil, err
	}
	owners, notes := r.owners(ctx)
	deviceLimits, err := r.DeviceLimits(r.Machine).List()
	if err != nil {
		notes = append(notes, fmt.Sprintf("limits in the root group are not known: %v", err))
	}
	deviceLimits = r.byRule(deviceLimits)
	settings, err := r.Settings(r.Machine).List()
	if err != nil {
		notes = append(notes, fmt.Sprintf("the limits of plimsoll limit set are not known: %v", err))
	}
	list := []Limited{}
	for _, s := range states {
		owner := ownerOf(s.Group, owners)
		add := func(d *device.Number, of limit.Limits) {
			for _, k := range limit.Keys {
				if !of.Has(k) {
					continue
				}
				x := Limited{Target: groupName(s.Group), Group: s.Group, Key: k, Value: of.Text(k), words: limit.Limits{}.With(k, of).Words()}
				if d != nil {
					x.Device, x.DeviceName = *d, r.diskName(*d)
				}
				if owner != nil {
					x.Target = owner.ref
				}
				x.By = whoSet(x, d, owner, deviceLimits, settings)
				list = append(list, x)
			}
		}
		add(nil, s.Limits)
		for _, d := range sorted(s.Devices) {
			add(&d, s.Devices[d])
		}
	}
	return &List{list, notes}, nil
}

// owners returns the running containers by the paths of their groups.
func (r *Reader) owners(ctx context.Context) (owners map[string]*owner, notes []string) {
	owners = map[string]*owner{}
	found, err := r.Finder.List(ctx)
	if err != nil {
		notes = append(notes, fmt.Sprintf("some containers are shown as groups: %v", err))
	}
	held, ended, err := r.held()
	if err != nil {
		notes = append(notes, fmt.Sprintf("plimsoll daemon's limits are not known: %v", err))
	}
	for _, t := range found {
		if t.PID == 0 {
			continue
		}
		groups, err := r.Finder.Groups(t)
		if err != nil {
			continue // It ended in the meantime.
		}
		o := &owner{ref: t.Ref(), ended: ended}
		if o.stored, err = r.Stored(ctx, &t); err != nil {
			notes = append(notes, fmt.Sprintf("%s: the limits stored by its engine are not known: %v", o.ref, err))
		}
		for _, c := range held {
			if t.ID != "" && c.ID == t.ID || c.Target == o.ref {
				o.held = append(o.held, c.Held...)
			}
		}
		for _, g := range groups {
			if !g.Shared && g.Path != "/" {
				owners[g.Path], o.groups = o, append(o.groups, g.Path)
			}
		}
	}
	return owners, notes
}

// held returns the containers with limits of the daemon. If it has ended, these are those of its records.
func (r *Reader) held() (list []keeper.ContainerStatus, ended bool, err error) {
	status, err := r.Daemon()
	if errors.Is(err, fs.ErrNotExist) {
		list, err = keeper.Left(r.Run, r.FS.Proc)
		return list, true, err
	}
	if err != nil {
		return nil, false, err
	}
	return status.Containers, false, nil
}

// ownerOf returns the container to which a group or one above it belongs, or nil.
func ownerOf(group string, owners map[string]*owner) *owner {
	for p := group; p != "/" && p != "."; p = path.Dir(p) {
		if o := owners[p]; o != nil {
			return o
		}
	}
	return nil
}

// rootGroup is used if the root group has no name.
const rootGroup = "the root group"

// groupName returns the name by which commands accept a group that belongs to no container.
func groupName(group string) string {
	for _, suffix := range []string{".service", ".scope", ".slice"} {
		if strings.HasSuffix(group, suffix) {
			return string(target.Unit) + ":" + path.Base(group)
		}
	}
	if group == "/" {
		return rootGroup
	}
	return "cgroup:" + group
}

// whoSet names the program that set a limit, if that is on record.
func whoSet(x Limited, d *device.Number, o *owner, deviceLimits []hold.DeviceLimit, settings []hold.Setting) string {
	if x.Group == "/" {
		for _, w := range deviceLimits {
			if w.Device == x.Device && w.Limits.Has(x.Key) && w.Limits.Text(x.Key) == x.Value {
				return strings.TrimSpace("set for " + w.For + " (--device-wide) " + w.When())
			}
		}
		return byAnybody
	}
	if o != nil {
		for _, h := range o.held {
			if o.gave(h, x) {
				return o.daemon() + ", " + policy.Called(h.Rule)
			}
		}
	}
	for _, n := range settings {
		if n.Is(x.Group, d, x.Key, x.Value) {
			return "plimsoll limit set, " + n.At.Local().Format(time.DateTime)
		}
	}
	if o != nil {
		return o.storedIt(x)
	}
	switch {
	case strings.Contains(x.Group, "/plimsoll-"):
		return byRun
	case strings.HasPrefix(x.Target, string(target.Unit)+":"):
		return bySystemd
	}
	return byAnybody
}

// daemon names the daemon that limits the container.
func (o *owner) daemon() string {
	if o.ended {
		return "plimsoll daemon, which has ended"
	}
	return "plimsoll daemon"
}

// gave reports whether the daemon set a limit of a container, for which it holds h. With version 1 the daemon also
// writes rates into each group below the container's own, and no other limits. The kernel keeps rates as they are
// written, so a different value was set by another program.
func (o *owner) gave(h keeper.Limit, x Limited) bool {
	if h.Key != x.Key || !h.Device.IsZero() && h.Device != x.Device {
		return false
	}
	if x.Key.Rate() {
		return h.Value == x.Value
	}
	return slices.Contains(o.groups, x.Group)
}

// diskName returns a device's name, or its number if it has none.
func (r *Reader) diskName(d device.Number) string {
	if dev, err := r.FS.Disk(d); err == nil {
		return dev.Name
	}
	return d.String()
}

// storedIt says what the engine has stored of a container's limit. An engine stores shares and CPUs in other units than
// the kernel; for the other limits, storedIt compares the values.
func (o *owner) storedIt(x Limited) string {
	if o.stored == nil {
		return byAnybody
	}
	other := ""
	for _, w := range o.stored.Limits {
		word, _, _ := strings.Cut(w, " on ")
		switch key, value, _ := strings.Cut(word, "="); {
		case key != string(x.Key):
		case value == x.Value || !x.Key.Rate() && x.Key != limit.Memory:
			return o.stored.By + " has it stored"
		default:
			other = "; " + o.stored.By + " has stored " + w
		}
	}
	return byAnybody + other
}
