package keeper

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
)

// A Slot is one kind of limit of an entry, on one device if the kind is per device.
type Slot struct {
	Key limit.Key `json:"key"`
	// Device is zero for limits without a device.
	Device device.Number `json:"device,omitzero"`
	// DeviceWide is set for the root group's limit on the device (version 1), which applies to all its users.
	DeviceWide bool `json:"device_wide"`
	// Together is set for the budget that all containers of the rule share (version 2).
	Together bool `json:"together"`
}

// A Grant is the value that a rule gives a slot.
type Grant struct {
	Slot
	// DeviceName is the kernel's name of the device: "vda".
	DeviceName string `json:"device_name,omitempty"`
	// Value is the limit in a policy's words: "10MiB", or "none".
	Value string `json:"value"`
	// Rule is the name of the rule that decided.
	Rule string `json:"rule"`

	// limits has only the slot's key; without it the limit is to be removed.
	limits limit.Limits
	// rank is the rule's index in the policy.
	rank int
	// inherited is set for an earlier keeper's limit, until this keeper knows which rule sets it.
	inherited bool
}

// A Fault is a rule that can't be applied to a container.
type Fault struct {
	Rule string `json:"rule"`
	Text string `json:"error"`
	// Err is the error itself.
	Err error `json:"-"`
}

// A ruling is everything that a policy gives a container.
type ruling struct {
	// rules are the names of the matching rules.
	rules  []string
	grants []Grant
	faults []Fault
	// unlimited describes data that rules select and that has no limit, with the reason.
	unlimited []string
	// escapes are the writes that get past the limits.
	escapes []hold.Escape
	// unread is set if the limits of some rules stay as they are, because a ceiling can't be read.
	unread bool
}

// Ceilings returns a device's measured ceilings; see limit.Ask.Resolve.
type Ceilings func(device string) (limit.Limits, error)

// rule decides the limits of a container: for each slot the last rule that sets it. A rule that can't be applied in
// full is dropped. If only its ceilings can't be read, it has its grants in force instead.
func rule(h *hold.Holder, p *policy.Policy, ceilings Ceilings, t target.Target, inForce []Grant) ruling {
	var out ruling
	var alone []Grant
	last := map[Slot]Grant{}
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.Matches(t) {
			continue
		}
		out.rules = append(out.rules, r.Name)
		grants, scope, err := grantsOf(h, r, ceilings, t)
		if errors.As(err, new(*unreadError)) {
			for _, g := range inForce {
				if g.Rule == r.Name {
					g.rank = i
					last[g.Slot], out.unread = g, true
				}
			}
		}
		if err != nil {
			out.faults = append(out.faults, Fault{Rule: r.Name, Text: err.Error(), Err: err})
			continue
		}
		var set limit.Limits
		for _, g := range grants {
			set = set.With(g.Key, g.limits)
		}
		out.without(scope, set)
		for _, g := range grants {
			g.rank = i
			last[g.Slot] = g
		}
	}
	for s, g := range last {
		// A container may have the shared budget alone, and no more.
		own := Slot{Key: s.Key, Device: s.Device}
		if s.Together && g.limits.Below(s.Key, last[own].limits) {
			g.Slot = own
			alone = append(alone, g)
		}
	}
	for _, g := range alone {
		last[g.Slot] = g
	}
	for _, g := range last {
		out.grants = append(out.grants, g)
	}
	slices.SortFunc(out.grants, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), a.Device.Compare(b.Device), cmp.Compare(slices.Index(limit.Keys, a.Key), slices.Index(limit.Keys, b.Key)))
	})
	return out
}

// without records data that a rule selects and that has no limit, or none in some modes.
func (out *ruling) without(s *hold.Scope, set limit.Limits) {
	for _, u := range s.Unlimited {
		if !slices.Contains(out.unlimited, u) {
			out.unlimited = append(out.unlimited, u)
		}
	}
	for _, e := range s.Escapes(set, "where: {device_wide: true}") {
		if !slices.ContainsFunc(out.escapes, func(o hold.Escape) bool { return o.String() == e.String() }) {
			out.escapes = append(out.escapes, e)
		}
	}
}

// grantsOf is the grants of a single rule for a container, and the scope of all data that the rule selects.
func grantsOf(h *hold.Holder, r *policy.Rule, ceilings Ceilings, t target.Target) (grants []Grant, s *hold.Scope, err error) {
	s = &hold.Scope{}
	if policy.IO(r.Limits) {
		places, err := wheres(r, t)
		if err != nil {
			return nil, nil, err
		}
		for _, w := range places {
			one, err := h.ScopeOf(t, w, true)
			if err != nil {
				return nil, nil, err
			}
			s.Add(one)
		}
	}
	if err := possible(s, r.Limits); err != nil {
		return nil, nil, err
	}
	for _, k := range policy.Asked(r.Limits) {
		switch {
		case !k.IO():
			grants = append(grants, grant(r, Slot{Key: k}, "", r.Limits.Limits))
		case k == limit.Weight:
			for _, d := range s.Weights() {
				grants = append(grants, grant(r, Slot{Key: k, Device: d.Number}, d.Name, r.Limits.Limits))
			}
		default:
			for _, d := range s.Devices() {
				if d.ReadsOnly && k.Writes() {
					continue
				}
				value, err := resolve(r.Limits, k, d, ceilings)
				if err != nil {
					return nil, nil, err
				}
				grants = append(grants, grant(r, Slot{Key: k, Device: d.Number}, d.Name, value))
				if k.Rate() && s.HasRootGroup() {
					grants = append(grants, grant(r, Slot{Key: k, Device: d.Number, DeviceWide: true}, d.Name, value))
				}
			}
		}
	}
	return grants, s, nil
}

// grant makes a rule's grant for a slot.
func grant(r *policy.Rule, s Slot, name string, value limit.Limits) Grant {
	s.Together = r.Together
	l := limit.Limits{}.With(s.Key, value)
	return Grant{Slot: s, DeviceName: name, Value: l.Text(s.Key), Rule: r.Name, limits: l}
}

// wheres are the parts of the container's data that a rule selects.
func wheres(r *policy.Rule, t target.Target) ([]hold.Where, error) {
	w := hold.Where{Path: r.Where.Path, Device: r.Where.Device, DeviceWide: r.Where.DeviceWide}
	var list []hold.Where
	switch {
	case r.Where.Volume != "":
		for _, v := range r.Volumes(t) {
			w.Volume = v
			list = append(list, w)
		}
	case strings.ContainsAny(r.Where.Device, "*?["):
		nodes, err := filepath.Glob(r.Where.Device)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", r.Where.Device, err)
		}
		for _, n := range nodes {
			if info, err := os.Stat(n); err == nil && info.Mode()&(os.ModeDevice|os.ModeCharDevice) == os.ModeDevice {
				w.Device = n
				list = append(list, w)
			}
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("no block device is called %s at present", r.Where.Device)
		}
	default:
		list = append(list, w)
	}
	return list, nil
}

// resolve is the requested value of one key on a device. A percentage is one of the device's measured ceiling.
func resolve(a limit.Ask, k limit.Key, d explain.Spot, ceilings Ceilings) (limit.Limits, error) {
	p, relative := a.Percent[k]
	if !relative {
		return a.Limits, nil
	}
	var most limit.Limits
	if ceilings != nil {
		var err error
		most, err = ceilings(d.Name)
		switch {
		case errors.Is(err, limit.ErrNoCeiling):
			return most, fmt.Errorf("%s: read the measured ceiling of %s: %w", k, d.Name, err)
		case err != nil:
			return most, &unreadError{k, d.Name, err}
		}
	}
	c, err := limit.Ask{Percent: map[limit.Key]float64{k: p}}.Resolve(most)
	if errors.Is(err, limit.ErrNoCeiling) {
		err = fmt.Errorf("%s: %w (to measure it, run a plan with a place on %s and direct I/O: plimsoll plan show places > PLAN is a start, plimsoll run PLAN measures)", d.Name, err, d.Name)
	}
	return c.Set, err
}

// An unreadError reports a measured ceiling that can't be read now. It may be known, and be read later.
type unreadError struct {
	key    limit.Key
	device string
	err    error
}

func (e *unreadError) Error() string {
	return fmt.Sprintf("%s: read the measured ceiling of %s: %v; until it can be read, the rule's limits stay as they are", e.key, e.device, e.err)
}

func (e *unreadError) Unwrap() error { return e.err }

// possible returns why some of a rule's limits would have no effect on a scope's data.
func possible(s *hold.Scope, a limit.Ask) error {
	if slices.ContainsFunc(policy.Asked(a), func(k limit.Key) bool { return k.Writes() && !slices.Contains(a.Remove, k) }) {
		if err := s.Written(); err != nil {
			return err
		}
	}
	if a.Limits.Has(limit.Latency) {
		if err := s.Latency(); err != nil {
			return err
		}
	}
	if a.Limits.Has(limit.Weight) {
		return s.Weight()
	}
	return nil
}

// A part is a set of writes that succeed or fail together: the limits of one rule for one target.
type part struct {
	rule  string
	slots []Slot
	wants []cgroup.Want
}

// parts turns grants into writes: for each rule, one want for each different set of values.
func parts(grants []Grant) []part {
	var out []part
	for _, g := range grants {
		if len(out) == 0 || out[len(out)-1].rule != g.Rule {
			out = append(out, part{rule: g.Rule})
		}
		p := &out[len(out)-1]
		p.slots = append(p.slots, g.Slot)
	}
	for i := range out {
		out[i].wants = wants(grants, out[i].rule)
	}
	return out
}

// wants are the wants of one rule. Devices with equal values share one want, so that each file is read once.
func wants(grants []Grant, rule string) []cgroup.Want {
	var list []cgroup.Want
	type at struct {
		device device.Number
		weight bool
	}
	var order []at
	byDevice := map[at]*cgroup.Want{}
	for _, g := range grants {
		if g.Rule != rule {
			continue
		}
		at := at{g.Device, g.Key == limit.Weight}
		w := byDevice[at]
		if w == nil {
			w = &cgroup.Want{}
			byDevice[at] = w
			order = append(order, at)
			switch {
			case at.device.IsZero():
			case at.weight:
				w.WeightDevices = []device.Number{at.device}
			default:
				w.Devices = []device.Number{at.device}
			}
		}
		if g.limits.IsZero() {
			w.Change.Remove = append(w.Change.Remove, g.Key)
		}
		// The old value of swap is restored even where memory had no limit.
		w.Change.Set = w.Change.Set.With(g.Key, g.limits)
	}
	for _, at := range order {
		w := *byDevice[at]
		if i := slices.IndexFunc(list, func(o cgroup.Want) bool { return mergeable(o, w) }); i >= 0 {
			list[i].Devices = append(list[i].Devices, w.Devices...)
			list[i].WeightDevices = append(list[i].WeightDevices, w.WeightDevices...)
			continue
		}
		list = append(list, w)
	}
	return list
}

// mergeable reports whether two wants differ only in their devices.
func mergeable(a, b cgroup.Want) bool {
	return a.Change.Set == b.Change.Set && slices.Equal(a.Change.Remove, b.Change.Remove) &&
		(len(a.Devices) > 0) == (len(b.Devices) > 0) && (len(a.WeightDevices) > 0) == (len(b.WeightDevices) > 0)
}
