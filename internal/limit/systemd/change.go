package systemd

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/limit"
)

// A Change describes a change of a unit's limits. Limits that it doesn't name stay.
type Change struct {
	// Set are the limits to set.
	Set Properties
	// Remove are the kinds of limits to remove: for the devices at Paths, or for all devices if that is nil.
	Remove []limit.Key
	Paths  []string
}

// An Edit is what is set for a change.
type Edit struct {
	Unit string
	// Set are properties as systemctl set-property takes them; none if nothing changes. Was are the properties that restore
	// the old values.
	Set, Was []string
}

// Plan compares a unit with the wanted change. It sets nothing.
func (s Systemd) Plan(ctx context.Context, unit string, c Change) (Edit, error) {
	e := Edit{Unit: unit}
	if err := c.Set.check(); err != nil {
		return e, fmt.Errorf("unit %s: %w", unit, err)
	}
	has, err := s.Get(ctx, unit)
	if err != nil {
		return e, err
	}
	for _, x := range deviceProperties {
		s.remove(&e, x, has, c)
	}
	for _, d := range c.Set.Devices {
		now := s.of(has, d.Path)
		for _, x := range deviceProperties {
			if want, is := x.get(d), x.get(now); want != "" && want != is {
				e.put(x.name+"="+now.Path+" "+want, x.name+"="+now.Path+" "+orElse(is, x.none))
			}
		}
	}
	for _, x := range scalars {
		is, want := x.get(has), x.get(c.Set)
		switch {
		case want != "" && want != is:
			e.put(x.name+"="+want, x.name+"="+orElse(is, x.none))
		case want == "" && is != "" && slices.Contains(c.Remove, x.key):
			e.put(x.name+"="+x.none, x.name+"="+is)
		}
	}
	return e, nil
}

// remove plans the removal of devices from a property.
func (s Systemd) remove(e *Edit, x deviceProperty, has Properties, c Change) {
	if !slices.Contains(c.Remove, x.key) {
		return
	}
	first := true
	for _, d := range has.Devices {
		is := x.get(d)
		if is == "" {
			continue
		}
		was := x.name + "=" + d.Path + " " + is
		switch {
		case c.Paths != nil:
			if slices.ContainsFunc(c.Paths, func(p string) bool { return s.same(p, d.Path) }) {
				e.put(x.name+"="+d.Path+" "+x.none, was)
			}
		case first:
			// An empty list takes the place of the whole.
			e.put(x.name+"=", was)
			first = false
		default:
			e.Was = append(e.Was, was)
		}
	}
}

func (e *Edit) put(set, was string) { e.Set, e.Was = append(e.Set, set), append(e.Was, was) }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// of returns a unit's limits for the device at a path, under the path that the unit uses for it.
func (s Systemd) of(has Properties, path string) Device {
	for _, d := range has.Devices {
		if s.same(d.Path, path) {
			return d
		}
	}
	return Device{Path: path}
}

// same reports whether two paths are of one device.
func (s Systemd) same(a, b string) bool {
	if a == b || s.Device == nil {
		return a == b
	}
	n := s.Device(a)
	return !n.IsZero() && n == s.Device(b)
}

// Apply sets all of an edit's properties or none. systemd writes the groups' files soon after, not before it returns.
func (s Systemd) Apply(ctx context.Context, e Edit) error { return s.setProperty(ctx, e.Unit, e.Set) }

// Undo restores the values from before Apply.
func (s Systemd) Undo(ctx context.Context, e Edit) error { return s.setProperty(ctx, e.Unit, e.Was) }

// scalars are the properties that are not for a device. get writes their value, "" for none, and none is the
// word for that.
var scalars = []struct {
	key        limit.Key
	name, none string
	get        func(Properties) string
}{
	{limit.Weight, "IOWeight", "", func(l Properties) string { return number(l.Weight) }},
	{limit.CPUs, "CPUQuota", "", func(l Properties) string {
		if l.CPUs == 0 {
			return ""
		}
		return strconv.FormatFloat(math.Round(l.CPUs*1e4)/1e2, 'f', -1, 64) + "%"
	}},
	{limit.CPUShares, "CPUWeight", "", func(l Properties) string {
		if l.CPUShares == 0 {
			return ""
		}
		w, _ := limit.CPUWeight(int64(min(l.CPUShares, limit.MaxCPUShares)))
		return number(uint64(w))
	}},
	{limit.Memory, "MemoryMax", "infinity", func(l Properties) string { return number(l.Memory) }},
	{limit.Memory, "MemorySwapMax", "infinity", func(l Properties) string {
		if l.NoSwap {
			return "0"
		}
		return number(l.Swap)
	}},
}

// check returns an error for a change that systemd would refuse or misread.
func (l Properties) check() error {
	for _, d := range l.Devices {
		switch {
		case !path.IsAbs(d.Path) || strings.ContainsAny(d.Path, "\n\t "):
			// systemctl would take the text after a space for the value.
			return fmt.Errorf("device %q: systemd wants a whole path without spaces", d.Path)
		case d.Weight > 10000:
			return fmt.Errorf("weight %d of %s: systemd takes 1 to 10000", d.Weight, d.Path)
		case d.Latency != 0 && d.Latency < time.Microsecond:
			return fmt.Errorf("latency %v of %s: systemd takes whole microseconds", d.Latency, d.Path)
		}
	}
	switch {
	case l.Weight > 10000:
		return fmt.Errorf("weight %d: systemd takes 1 to 10000", l.Weight)
	case math.IsNaN(l.CPUs), math.IsInf(l.CPUs, 0), l.CPUs < 0, l.CPUs != 0 && l.CPUs < 0.01:
		return fmt.Errorf("cpus %v is not a number of CPUs from 0.01", l.CPUs)
	}
	return nil
}

// ForBFQ returns the weight that systemd converts to the given weight of bfq, 1 to 1000. systemd's conversion keeps the
// ends of the two scales (systemd, src/basic/cgroup-util.h, BFQ_WEIGHT).
func ForBFQ(weight uint64) uint64 {
	if weight <= 100 {
		return weight
	}
	return min(100+(weight-100)*11, 10000)
}
