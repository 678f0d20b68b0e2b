package diskspd

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// thisMachine reads sysfs (Documentation/ABI/testing/sysfs-devices-system-cpu).
func thisMachine(s *System) {
	readProcessors(s, "/sys/devices/system")
	if g := word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"); g != "" {
		s.Power = g
	}
}

// readProcessors reads the processors under root, which is /sys/devices/system.
func readProcessors(s *System, root string) {
	nodes := map[int]int{}
	dirs, _ := filepath.Glob(root + "/node/node[0-9]*") // only a bad pattern is an error
	for _, d := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(d), "node"))
		if err != nil {
			continue
		}
		for _, c := range numbers(word(d + "/cpulist")) {
			nodes[c] = n
		}
	}
	// Intel's slower cores, where there are two kinds.
	slow := map[int]bool{}
	for _, c := range numbers(word(filepath.Dir(root) + "/cpu_atom/cpus")) {
		slow[c] = true
	}
	cores := map[string]int{}
	for _, n := range numbers(word(root + "/cpu/online")) {
		dir := root + "/cpu/cpu" + strconv.Itoa(n) + "/topology/"
		p := ProcessorInfo{Number: n, Node: nodes[n], Socket: max(atoi(word(dir+"physical_package_id")), 0)}
		// A core is numbered in its socket by the kernel; DiskSpd counts those of a group.
		core := word(dir+"physical_package_id") + "/" + word(dir+"core_id")
		if core == "/" {
			core = strconv.Itoa(n)
		}
		if _, known := cores[core]; !known {
			cores[core] = len(cores)
		}
		p.Core = cores[core]
		if len(slow) > 0 && !slow[n] {
			p.Class = 1
		}
		s.Processors = append(s.Processors, p)
	}
}

// word reads a file of one line, empty if it can't be read.
func word(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// numbers reads a list like 0-3,8.
func numbers(s string) []int {
	var all []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, ranged := strings.Cut(part, "-")
		a, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			continue
		}
		b := a
		if ranged {
			if b, err = strconv.ParseUint(last, 10, 16); err != nil {
				continue
			}
		}
		for n := a; n <= b; n++ {
			all = append(all, int(n))
		}
	}
	return all
}
