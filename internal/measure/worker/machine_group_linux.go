package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/text/size"
)

const (
	cgroupRoot  = "/sys/fs/cgroup"
	cgroupOfOwn = cgroupRoot + "/plimsoll"
)

// A group is the control group, of version 2, that the agent of a virtual machine and its trials are in.
type group struct {
	memory int64
	// device is the disk, rates what io.max says of it; zero: nothing.
	device device.Number
	rates  string
}

// enterGroup makes the machine's group, sets the limits that always apply, and moves this process into it. Without limits,
// a kernel without control groups is no error.
func enterGroup(s *wire.Setup) (*group, error) {
	l := s.Limits
	g := &group{memory: l.Memory}
	for _, r := range []struct {
		key   string
		value int64
	}{{"rbps", l.ReadBPS}, {"wbps", l.WriteBPS}, {"riops", l.ReadIOPS}, {"wiops", l.WriteIOPS}} {
		if r.value > 0 {
			g.rates += " " + r.key + "=" + strconv.FormatInt(r.value, 10)
		}
	}
	limited := g.rates != "" || l.Memory > 0 || l.CPUs > 0
	err := g.enter(s)
	if err != nil && limited {
		return nil, fmt.Errorf("limits in the guest: %w", err)
	}
	return g, nil
}

func (g *group) enter(s *wire.Setup) error {
	// Each by itself: the kernel may lack one that isn't needed.
	for _, c := range []string{"+memory", "+cpu", "+io", "+pids"} {
		_ = os.WriteFile(filepath.Join(cgroupRoot, "cgroup.subtree_control"), []byte(c), 0)
	}
	if err := os.MkdirAll(cgroupOfOwn, 0o755); err != nil {
		return err
	}
	if s.Limits.Memory > 0 {
		if err := g.set("memory.max", strconv.FormatInt(s.Limits.Memory, 10)); err != nil {
			return err
		}
	}
	if s.Limits.CPUs > 0 {
		if err := g.set("cpu.max", cpuMax(s.Limits.CPUs)); err != nil {
			return err
		}
	}
	if g.rates != "" {
		var st unix.Stat_t
		if err := unix.Stat(s.Place.Dir, &st); err != nil {
			return err
		}
		g.device = device.NumberOf(st.Dev)
	}
	return g.set("cgroup.procs", "0")
}

// cpuMax is the content of cpu.max for a number of CPUs.
func cpuMax(cpus float64) string {
	quota, period := limit.CPUQuota(cpus, limit.CPUPeriod)
	return fmt.Sprintf("%d %d", quota, period)
}

func (g *group) set(file, value string) error {
	return os.WriteFile(filepath.Join(cgroupOfOwn, file), []byte(value), 0)
}

// hold puts the rates in force until release is called. Without a group or rates, both do nothing.
func (g *group) hold() error {
	if g == nil || g.device.IsZero() {
		return nil
	}
	if err := g.set("io.max", g.device.String()+g.rates); err != nil {
		return fmt.Errorf("limits in the guest: %w", err)
	}
	return nil
}

func (g *group) release() {
	if g != nil && !g.device.IsZero() {
		_ = g.set("io.max", g.device.String()+" rbps=max wbps=max riops=max wiops=max")
	}
}

// kills counts the processes that were killed because memory ran out: in the group, and in the whole machine.
func (g *group) kills() (own, all int64) {
	if g == nil {
		return 0, 0
	}
	return counter(filepath.Join(cgroupOfOwn, "memory.events"), "oom_kill"), counter("/proc/vmstat", "oom_kill")
}

// why says that a killed trial was out of memory, if so; own and all are the counts of kills before it.
func (g *group) why(own, all int64) string {
	if g == nil {
		return ""
	}
	ownNow, allNow := g.kills()
	switch {
	case ownNow > own && g.memory > 0:
		return "out of memory (memory limit " + size.Bytes(g.memory) + ")"
	case allNow > all:
		return fmt.Sprintf("out of memory (the guest's own: %s in all)", size.Bytes(booted().Memory))
	}
	return ""
}

// counter reads a line "NAME NUMBER" of a file; 0 if it is missing.
func counter(file, name string) int64 {
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}
