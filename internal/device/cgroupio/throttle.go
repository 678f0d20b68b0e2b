package cgroupio

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/device"
	"plimsoll/internal/device/hierarchy"
)

// Throttled counts the stops of a group by the CPU controller: how many periods it was
// stopped in, and for how long in all.
type Throttled struct {
	Periods int64
	Time    time.Duration
}

// ReadThrottle returns how often and how long the CPU controller has stopped
// pid's group since it was made. Take the difference of two calls. A group that is
// shared with others is stopped with all its processes, so sharing is no
// error here; a group that can't be stopped (the root) is ErrNotCounted.
func ReadThrottle(f device.FS, pid int) (Throttled, error) {
	g, err := groupOf(f, strconv.Itoa(pid), hierarchy.CPU)
	if err != nil {
		return Throttled{}, err
	}
	if g.IsRoot() {
		return Throttled{}, fmt.Errorf("group of process %d: the root group is never stopped: %w", pid, ErrNotCounted)
	}
	b, err := os.ReadFile(filepath.Join(g.Dir, "cpu.stat"))
	if err != nil {
		return Throttled{}, fmt.Errorf("group %s: %w", g.Path, err)
	}
	t, err := parseThrottle(string(b))
	if err != nil {
		return Throttled{}, fmt.Errorf("group %s: cpu.stat: %w", g.Path, err)
	}
	return t, nil
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
