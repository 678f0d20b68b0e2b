package cgroup

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

const ioLatency = "io.latency"

// latency plans io.latency: "254:0 target=5000", in microseconds.
func (p *planner) latency(g *hierarchy.Group, keys []limit.Key) error {
	if g.Version == 1 {
		if p.removing(keys...) {
			return nil
		}
		return unsupported(limit.Latency, "version 1 of cgroups has no latency targets", "boot with systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all, or give the neighbours rates")
	}
	b, err := p.read(g, ioLatency)
	if err != nil {
		return p.absent(g, ioLatency, err, keys)
	}
	now, err := parseLatency(b)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", g.Dir, ioLatency, err)
	}
	want := uint64(p.want.Change.Set.Latency / time.Microsecond)
	for _, d := range p.devices(now) {
		has, _ := now.of(d)
		if has == want {
			p.diff.Held++
			continue
		}
		if want != 0 {
			if err := p.device(d, keys...); err != nil {
				return err
			}
		}
		p.edit(g, ioLatency, d, keys, []string{d.String() + " target=" + orMax(want)}, []string{d.String() + " target=" + orMax(has)})
	}
	return nil
}

// parseLatency reads io.latency: lines with a device and a target in microseconds.
func parseLatency(b []byte) (deviceValues, error) {
	var out deviceValues
	for line := range bytes.Lines(b) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " target=")
		d, err := device.ParseNumber(name)
		if err != nil {
			if name == "" || strings.HasPrefix(name, "(") {
				continue
			}
			return nil, fmt.Errorf("%q is not a device and target", line)
		}
		n, err := strconv.ParseUint(value, 10, 64)
		if value == "max" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not a device and target", line)
		}
		out = append(out, deviceValue{d, n})
	}
	return out, nil
}
