package cgroupio

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// Throttled counts how often the CPU controller stopped a group: the number of periods, and the time in all.
type Throttled struct {
	Periods int64
	Time    time.Duration
}

// A CPUGroup is a control group with its CPU limit and what the CPU controller has done.
type CPUGroup struct {
	// Path is the group's name, as in /proc/<pid>/cgroup.
	Path string
	// CPUs is its quota, in CPUs; 0: none.
	CPUs float64
	Throttled
}

// ReadThrottles returns what the CPU controller has done to the group of process pid and to all visible groups above it, its own
// first. Each group stops the groups below it, and counts only its own stops. Take the difference of two calls. A shared group is
// stopped with all its processes, so sharing is no error here. Groups that can't be stopped, such as the root, are left out.
func ReadThrottles(f device.FS, pid int) ([]CPUGroup, error) {
	g, err := groupOf(f, strconv.Itoa(pid), hierarchy.CPU)
	if err != nil {
		return nil, err
	}
	var all []CPUGroup
	for ; g != nil; g = g.Parent() {
		stops, err := GroupThrottle(g, os.ReadFile)
		if err != nil {
			continue // No controller here, or a group that was removed: it stops nothing.
		}
		all = append(all, CPUGroup{Path: g.Path, CPUs: quotaOf(g), Throttled: stops})
	}
	return all, nil
}

// quotaOf reads a group's quota in CPUs, 0 if it has none: cpu.max "20000 100000" in version 2, two files in version 1.
func quotaOf(g *hierarchy.Group) float64 {
	var words []string
	names := []string{"cpu.max"}
	if g.Version == 1 {
		names = []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"}
	}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(g.Dir, name))
		if err != nil {
			return 0
		}
		words = append(words, strings.Fields(string(b))...)
	}
	if len(words) != 2 {
		return 0
	}
	quota, err1 := strconv.ParseFloat(words[0], 64) // "max", or -1, if there is none
	period, err2 := strconv.ParseFloat(words[1], 64)
	if err1 != nil || err2 != nil || !(quota > 0) || !(period > 0) {
		return 0
	}
	return quota / period
}

// parseThrottle reads cpu.stat, whose time is throttled_time in nanoseconds in
// version 1 and throttled_usec in version 2.
func parseThrottle(text string) (Throttled, error) {
	var t Throttled
	found := false
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key != "nr_throttled" && key != "throttled_time" && key != "throttled_usec" {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return Throttled{}, err
		}
		switch key {
		case "nr_throttled":
			t.Periods, found = n, true
		case "throttled_time":
			t.Time = time.Duration(n)
		case "throttled_usec":
			t.Time = time.Duration(n) * time.Microsecond
		}
	}
	if !found {
		return t, fmt.Errorf("no nr_throttled: the group has no cpu controller: %w", ErrNotCounted)
	}
	return t, nil
}
