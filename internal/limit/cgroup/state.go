package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// A State is a group's limits. The kernel's default counts as no limit.
type State struct {
	// Group is the group's name in the hierarchy with the I/O controller; Version is that hierarchy's version, 0
	// without one.
	Group   string `json:"group"`
	Version int    `json:"version"`
	// Limits are the limits that are not per device: the weight for all devices, CPUs, shares and memory.
	Limits limit.Limits `json:"limits"`
	// Devices are the rates, latencies and weights on single devices.
	Devices map[device.Number]limit.Limits `json:"devices"`
}

// Read returns a target's present limits. The first State is that of its own groups; in version 1 those of the groups
// below follow, since only each group's own rates apply to it. A missing controller has no limits. The error wraps
// ErrGone if the target's group was removed.
func (h *Host) Read(t *Target) ([]State, error) {
	p := planner{host: h, target: t, diff: &Diff{host: h}, buf: buffers.Get().(*[]byte)}
	defer buffers.Put(p.buf)
	var states []State
	own := State{Devices: map[device.Number]limit.Limits{}}
	if g, err := t.Group(hierarchy.IO); err == nil {
		groups, err := h.throttled(t, g)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		for i, g := range groups {
			s := State{Group: g.Path, Version: g.Version, Devices: map[device.Number]limit.Limits{}}
			err := p.readIO(g, &s)
			if i > 0 && errors.Is(err, ErrGone) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.Name, err)
			}
			states = append(states, s)
		}
		own = states[0]
		if !h.exists(g.Dir) {
			return nil, fmt.Errorf("%s: %w", t.Name, ErrGone)
		}
	}
	for c, read := range map[hierarchy.Controller]func(*hierarchy.Group, *limit.Limits) error{hierarchy.CPU: p.readCPU, hierarchy.Memory: p.readMemory} {
		g, err := t.Group(c)
		if err != nil {
			continue
		}
		if own.Group == "" {
			own.Group = g.Path
		}
		if err := read(g, &own.Limits); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !h.exists(g.Dir) {
			return nil, fmt.Errorf("%s: %w", t.Name, ErrGone)
		}
	}
	if len(states) == 0 {
		return []State{own}, nil
	}
	states[0] = own
	return states, nil
}

// readIO reads one group's limits in the block layer. Missing files mean no limits.
func (p *planner) readIO(g *hierarchy.Group, s *State) error {
	set := func(d device.Number, f func(*limit.Limits)) {
		l := s.Devices[d]
		f(&l)
		s.Devices[d] = l
	}
	if g.Version == 1 {
		for _, f := range rateFiles {
			now, err := parsed(p, g, f.v1, parseThrottle)
			if err != nil {
				return err
			}
			for _, v := range now {
				set(v.device, func(l *limit.Limits) { *l.Whole(f.key) = int64(v.value) })
			}
		}
		return p.readWeights(g, s, set)
	}
	now, err := parsed(p, g, ioMax, parseMax)
	if err != nil {
		return err
	}
	for _, m := range now {
		for i, f := range rateFiles {
			set(m.device, func(l *limit.Limits) { *l.Whole(f.key) = int64(m.fields[i]) })
		}
	}
	targets, err := parsed(p, g, ioLatency, parseLatency)
	if err != nil {
		return err
	}
	for _, v := range targets {
		set(v.device, func(l *limit.Limits) { l.Latency = time.Duration(v.value) * time.Microsecond })
	}
	return p.readWeights(g, s, set)
}

// parsed reads and parses a file; a missing one is empty. The error wraps ErrGone if its group was removed.
func parsed[T any](p *planner, g *hierarchy.Group, file string, parse func([]byte) (T, error)) (T, error) {
	b, err := p.read(g, file)
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrGone) {
		b, err = nil, nil
	}
	if err != nil {
		var none T
		return none, err
	}
	v, err := parse(b)
	if err != nil {
		return v, fmt.Errorf("%s: %w", filepath.Join(g.Dir, file), err)
	}
	return v, nil
}

// readWeights reads the weights on all scales. If they differ, the first that is not the default counts.
func (p *planner) readWeights(g *hierarchy.Group, s *State, set func(device.Number, func(*limit.Limits))) error {
	for _, scale := range slices.Backward(weightScales(g.Version)) {
		now, err := p.weights(g, scale)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if now.normal != scale.normal {
			s.Limits.Weight = scale.from(now.normal)
		}
		for _, v := range now.devices {
			set(v.device, func(l *limit.Limits) { l.Weight = scale.from(int64(v.value)) })
		}
	}
	return nil
}

func (p *planner) readCPU(g *hierarchy.Group, l *limit.Limits) error {
	q, err := p.quota(g)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l.CPUs = q.cpus()
	file := sharesFile(g)
	b, err := p.read(g, file)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return fmt.Errorf("%s: can't read %q as a weight", filepath.Join(g.Dir, file), b)
	}
	if g.Version == 2 {
		n = limit.CPUSharesOf(n)
	}
	if n != limit.DefaultCPUShares {
		l.CPUShares = n
	}
	return nil
}

func (p *planner) readMemory(g *hierarchy.Group, l *limit.Limits) error {
	file, swapFile := memoryFiles(g)
	n, err := p.bytes(g, file)
	if err != nil {
		return err
	}
	if n != noLimit {
		l.Memory = n
	}
	swap, err := p.bytes(g, swapFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // The kernel doesn't count it.
	}
	if err == nil && swap != impliedSwap(g, n) {
		l.Swap = "max"
		if swap != noLimit {
			l.Swap = strconv.FormatInt(swap, 10)
		}
	}
	return err
}
