package cgroupio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// unlimited is the lowest value that means no limit in version 1, which shows the greatest number of pages in bytes: 2^63 less a
// page. Pages differ between machines.
const unlimited = int64(1) << 62

// A MemoryGroup is the group in which a process's memory is counted, as it was at the time of reading.
type MemoryGroup struct {
	// Limit is how many bytes its processes may use: the lowest limit of the group and of all visible groups above it, which is the
	// one in effect. 0: none.
	Limit int64
	// Holder is the name of the group that has this limit, as in /proc/<pid>/cgroup. Empty: none.
	Holder string
	// least is the lowest limit of all, including those above which the kernel slows processes down.
	least int64
	group *hierarchy.Group
}

// ReadMemory finds the memory group of process pid.
func ReadMemory(f device.FS, pid int) (*MemoryGroup, error) {
	g, err := groupOf(f, strconv.Itoa(pid), hierarchy.Memory)
	if err != nil {
		return nil, err
	}
	m := &MemoryGroup{Limit: unlimited, least: unlimited, group: g}
	for ; g != nil; g = g.Parent() {
		n, high, err := groupLimits(g)
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", g.Path, err)
		}
		if n < m.Limit {
			m.Limit, m.Holder = n, g.Path
		}
		m.least = min(m.least, n, high)
	}
	if m.Limit == unlimited {
		m.Limit = 0
	}
	return m, nil
}

// groupLimits reads one group's own limits. Above most the kernel kills; above high, which only version 2 has, it slows processes
// down.
func groupLimits(g *hierarchy.Group) (most, high int64, err error) {
	if g.Version == 1 {
		most, err = memoryLimit(filepath.Join(g.Dir, "memory.limit_in_bytes"))
		return most, unlimited, err
	}
	most, err = memoryLimit(filepath.Join(g.Dir, "memory.max"))
	if err != nil {
		return 0, 0, err
	}
	high, err = memoryLimit(filepath.Join(g.Dir, "memory.high"))
	return most, high, err
}

// A MemoryReached is how often a group's memory limit was reached so far. Processes then waited until memory was free.
type MemoryReached struct {
	// Path is the group's name, Limit its own limit in bytes; 0: none.
	Path  string
	Limit int64
	Times int64
}

// Reached returns how often the limits of the group and of all visible groups above it were reached since the groups were made. Take
// the difference of two calls. Version 1 counts in memory.failcnt; version 2 in memory.events.local since Linux 5.2. Older kernels
// have memory.events only, which counts for the groups below, too.
func (m *MemoryGroup) Reached() []MemoryReached {
	var all []MemoryReached
	for g := m.group; g != nil; g = g.Parent() {
		times, err := reached(g)
		if err != nil {
			continue // The root of version 2 has no limit, nor has a group that was removed.
		}
		r := MemoryReached{Path: g.Path, Times: times}
		if most, high, err := groupLimits(g); err == nil && min(most, high) < unlimited {
			r.Limit = min(most, high)
		}
		all = append(all, r)
	}
	return all
}

// reached reads the count of one group.
func reached(g *hierarchy.Group) (int64, error) {
	if g.Version == 1 {
		b, err := os.ReadFile(filepath.Join(g.Dir, "memory.failcnt"))
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	}
	b, err := os.ReadFile(filepath.Join(g.Dir, "memory.events.local"))
	if err != nil {
		b, err = os.ReadFile(filepath.Join(g.Dir, "memory.events"))
	}
	if err != nil {
		return 0, err
	}
	var n int64
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && (f[0] == "high" || f[0] == "max") {
			times, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0, err
			}
			n += times
		}
	}
	return n, nil
}

// Kills returns how many of the group's processes the kernel has killed for lack of memory, because of the group's own limit, a
// limit above it or the machine's memory. Version 1 counts in memory.oom_control since Linux 4.13, version 2 in memory.events. It is
// an error if the count can't be read, as for a group that was removed.
func (m *MemoryGroup) Kills() (int64, error) {
	name := "memory.events"
	if m.group.Version == 1 {
		name = "memory.oom_control"
	}
	b, err := os.ReadFile(filepath.Join(m.group.Dir, name))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("group %s: %s has no count of kills: %w", m.group.Path, name, ErrNotCounted)
}

// ReadMemoryLimit returns how many bytes process pid may use before the kernel slows it down or kills it, whichever comes first: the
// lowest limit of its group and of all visible groups above it. 0: none.
func ReadMemoryLimit(f device.FS, pid int) (int64, error) {
	m, err := ReadMemory(f, pid)
	if err != nil || m.least == unlimited {
		return 0, err
	}
	return m.least, nil
}

// memoryLimit reads one limit. The root has no file in version 2.
func memoryLimit(path string) (int64, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return unlimited, nil
	}
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(b))
	if text == "max" {
		return unlimited, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return unlimited, nil // "-1" of old kernels.
	}
	return min(n, unlimited), nil
}
