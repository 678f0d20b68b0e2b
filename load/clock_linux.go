package load

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// tscUsable reports whether the time stamp counter can serve as a clock: it ticks at a constant rate (constant_tsc), in
// deep sleep too (nonstop_tsc), and the kernel keeps time with it. The kernel stops doing so when the counters of the
// CPUs disagree.
func tscUsable() bool {
	if runtime.GOARCH != "amd64" {
		return false
	}
	src, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil || strings.TrimSpace(string(src)) != "tsc" {
		return false
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if key, val, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			flags := strings.Fields(val)
			return slices.Contains(flags, "constant_tsc") && slices.Contains(flags, "nonstop_tsc")
		}
	}
	return false
}
