package cgroup

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// The four rates, with their file in version 1 and their field of io.max in version 2.
var rateFiles = []struct {
	key       limit.Key
	v1, field string
}{
	{limit.ReadBPS, "blkio.throttle.read_bps_device", "rbps"},
	{limit.WriteBPS, "blkio.throttle.write_bps_device", "wbps"},
	{limit.ReadIOPS, "blkio.throttle.read_iops_device", "riops"},
	{limit.WriteIOPS, "blkio.throttle.write_iops_device", "wiops"},
}

const ioMax = "io.max"

// rates plans the rates on devices.
func (p *planner) rates(g *hierarchy.Group, keys []limit.Key) error {
	groups, err := p.host.throttled(p.target, g)
	if err != nil {
		return fmt.Errorf("%s: %w", p.target.Name, err)
	}
	if g.Version == 2 {
		return p.maxima(g, keys)
	}
	for _, g := range groups {
		for _, f := range rateFiles {
			if !slices.Contains(keys, f.key) {
				continue
			}
			if err := p.throttle(g, f.v1, f.key); err != nil {
				return err
			}
		}
	}
	if len(groups) > 1 && !p.removing(keys...) {
		p.note("version 1 limits each group by itself: the %[1]d groups of this target together may do %[1]d times as much", len(groups))
	}
	return nil
}

// throttle plans one file of version 1: a value for each device, where 0 is none.
func (p *planner) throttle(g *hierarchy.Group, file string, key limit.Key) error {
	b, err := p.read(g, file)
	if err != nil {
		return p.absent(g, file, err, []limit.Key{key})
	}
	now, err := parseThrottle(b)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", g.Dir, file, err)
	}
	want := clampRate(key, *p.want.Change.Set.Whole(key))
	for _, d := range p.devices(now) {
		if p.readsOnly(d, key) {
			continue
		}
		has, limited := now.of(d)
		// An IOPS limit written as 2^32 reads as 0. It is not "no limit" but a fault: the kernel divides by it.
		if has == want && limited == (want != 0) {
			p.diff.Held++
			continue
		}
		if want != 0 {
			if err := p.device(d, key); err != nil {
				return err
			}
		}
		line := func(v uint64) []string { return []string{d.String() + " " + strconv.FormatUint(v, 10)} }
		p.edit(g, file, d, []limit.Key{key}, line(want), line(clampRate(key, int64(has))))
	}
	return nil
}

// clampRate keeps IOPS within version 1's range. The kernel casts them to 32 bits: 2^32 would become 0, by which it
// divides, and one less means no limit (tg_set_conf in block/blk-throttle.c).
func clampRate(k limit.Key, v int64) uint64 {
	if v <= 0 {
		return 0
	}
	if k == limit.ReadIOPS || k == limit.WriteIOPS {
		return uint64(min(v, limit.MaxIOPS))
	}
	return uint64(v)
}

// devices are the devices to plan: the wanted ones, or, to remove limits without a device, all with a value.
func (p *planner) devices(now deviceValues) []device.Number {
	if len(p.want.Devices) > 0 {
		return p.want.Devices
	}
	var out []device.Number
	for _, v := range now {
		out = append(out, v.device)
	}
	return out
}

// A deviceValue is a line "254:0 1048576".
type deviceValue struct {
	device device.Number
	value  uint64
}

type deviceValues []deviceValue

// of is the value of a device, if it has one.
func (v deviceValues) of(d device.Number) (value uint64, ok bool) {
	for _, x := range v {
		if x.device == d {
			return x.value, true
		}
	}
	return 0, false
}

// parseThrottle reads a file of blkio.throttle: a line for each device with a limit. Hidden devices (the paths of
// NVMe multipath) have "(unknown)" for a number, and are left out.
func parseThrottle(b []byte) (deviceValues, error) {
	var out deviceValues
	for line := range bytes.Lines(b) {
		name, value, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		d, err := device.ParseNumber(name)
		if err != nil {
			if name == "" || strings.HasPrefix(name, "(") {
				continue
			}
			return nil, fmt.Errorf("%q is not a device and value", line)
		}
		n, err := strconv.ParseUint(value, 10, 64)
		if !ok || err != nil || !plain(value) {
			return nil, fmt.Errorf("%q is not a device and value", line)
		}
		out = append(out, deviceValue{d, n})
	}
	return out, nil
}

// maxima plans io.max: one line for each device. A write only changes the fields that it names.
func (p *planner) maxima(g *hierarchy.Group, keys []limit.Key) error {
	b, err := p.read(g, ioMax)
	if err != nil {
		return p.absent(g, ioMax, err, keys)
	}
	now, err := parseMax(b)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", g.Dir, ioMax, err)
	}
	devices := p.want.Devices
	if len(devices) == 0 {
		for _, m := range now {
			devices = append(devices, m.device)
		}
	}
	for _, d := range devices {
		if err := p.maximum(g, d, now.of(d), keys); err != nil {
			return err
		}
	}
	return nil
}

// maximum plans one device's line.
func (p *planner) maximum(g *hierarchy.Group, d device.Number, now maximum, keys []limit.Key) error {
	var changed []limit.Key
	text, was := d.String(), d.String()
	for i, f := range rateFiles {
		if !slices.Contains(keys, f.key) || p.readsOnly(d, f.key) {
			continue
		}
		want := uint64(max(0, *p.want.Change.Set.Whole(f.key)))
		if now.fields[i] == want {
			p.diff.Held++
			continue
		}
		changed = append(changed, f.key)
		text += " " + f.field + "=" + orMax(want)
		was += " " + f.field + "=" + orMax(now.fields[i])
	}
	if len(changed) == 0 {
		return nil
	}
	if !p.removing(changed...) {
		if err := p.device(d, changed...); err != nil {
			return err
		}
	}
	p.edit(g, ioMax, d, changed, []string{text}, []string{was})
	return nil
}

// orMax is a value of io.max, where 0 is written "max".
func orMax(v uint64) string {
	if v == 0 {
		return "max"
	}
	return strconv.FormatUint(v, 10)
}

// A maximum is a line of io.max, with the fields in the order of rateFiles. 0 is "max".
type maximum struct {
	device device.Number
	fields [4]uint64
}

type maxima []maximum

func (m maxima) of(d device.Number) maximum {
	for _, x := range m {
		if x.device == d {
			return x
		}
	}
	return maximum{device: d}
}

// parseMax reads io.max: "254:0 rbps=max wbps=1048576 riops=max wiops=max". Unknown fields and hidden devices are
// left out.
func parseMax(b []byte) (maxima, error) {
	var out maxima
	for line := range bytes.Lines(b) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "(") {
			continue
		}
		d, err := device.ParseNumber(fields[0])
		if err != nil {
			return nil, fmt.Errorf("%q begins with no device", line)
		}
		m := maximum{device: d}
		for _, f := range fields[1:] {
			name, value, _ := strings.Cut(f, "=")
			for i, r := range rateFiles {
				if r.field != name {
					continue
				}
				n, err := strconv.ParseUint(value, 10, 64)
				if value == "max" {
					n, err = 0, nil
				}
				if err != nil {
					return nil, fmt.Errorf("can't read %q as a limit", f)
				}
				m.fields[i] = n
			}
		}
		out = append(out, m)
	}
	return out, nil
}
