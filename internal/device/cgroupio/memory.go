package cgroupio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/device"
	"plimsoll/internal/device/hierarchy"
)

// unlimited is where version 1 says that there is no limit: it writes the greatest number of pages in
// bytes, 2^63 less a page, and pages differ between machines.
const unlimited = int64(1) << 62

// A MemoryGroup is the group in which a process's memory is counted, as it was when it was read.
type MemoryGroup struct {
	// Limit is how many bytes its processes may use: the least limit of the group and of all above
	// it that can be seen from here, since that is the one in effect. 0: none.
	Limit int64
	// Holder names the group that has this limit, as /proc/<pid>/cgroup has it. Empty: none.
	Holder string
	group  *hierarchy.Group
}

// ReadMemory finds the memory group of process pid.
func ReadMemory(f device.FS, pid int) (*MemoryGroup, error) {
	g, err := groupOf(f, strconv.Itoa(pid), hierarchy.Memory)
	if err != nil {
		return nil, err
	}
	name := "memory.max"
	if g.Version == 1 {
		name = "memory.limit_in_bytes"
	}
	m := &MemoryGroup{Limit: unlimited, group: g}
	for dir, path := g.Dir, g.Path; ; dir, path = filepath.Dir(dir), filepath.Dir(path) {
		n, err := memoryLimit(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", path, err)
		}
		if n < m.Limit {
			m.Limit, m.Holder = n, path
		}
		if dir == g.Root || len(dir) <= len(g.Root) {
			break
		}
	}
	if m.Limit == unlimited {
		m.Limit = 0
	}
	return m, nil
}

// Kills returns how many of the group's processes the kernel has killed for want of memory, be it
// the group's own limit that was reached, one above it or the machine's end. Version 1 counts in
// memory.oom_control since Linux 4.13, version 2 in memory.events. An error says that it can't be
// read, such as of a group that is gone.
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
	return 0, fmt.Errorf("group %s: %s tells of no kills: %w", m.group.Path, name, ErrNotCounted)
}

// ReadMemoryLimit returns the Limit of the memory group of process pid.
func ReadMemoryLimit(f device.FS, pid int) (int64, error) {
	m, err := ReadMemory(f, pid)
	if err != nil {
		return 0, err
	}
	return m.Limit, nil
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
