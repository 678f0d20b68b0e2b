package doctor

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
)

const (
	// lowMemory is the memory that default workloads and their page cache need.
	lowMemory = 1 << 30
	// quietLoad is the share of the CPUs that other programs may use, quietIO the percentage of time in which tasks
	// may wait for I/O.
	quietLoad = 0.25
	quietIO   = 5.0
)

// measure examines what affects figures.
func (e *examination) measure() {
	e.counters()
	e.clock()
	e.power()
	e.memory()
	e.quiet()
}

// counters reports whether bytes can be followed to the device.
func (e *examination) counters() {
	proc := e.o.FS.Proc
	i := Item{ID: "counters", Group: Measure, Status: OK, What: "counters of bytes on devices and of processes"}
	switch {
	case !device.Exists(proc, "diskstats"):
		i.Status, i.Why = Partly, "no /proc/diskstats: whether bytes reach a device can't be seen"
	case device.Text(proc, "self", "io") == "":
		i.Status, i.Why = Partly, "no /proc/self/io: cached reads are harder to recognize"
	}
	e.add(i)
	p := Item{ID: "pressure", Group: Measure, Status: OK, What: "pressure of I/O (PSI)"}
	if device.Text(proc, "pressure", "io") == "" {
		p.Status, p.Why, p.Fix = No, "the kernel doesn't measure it", "boot with psi=1"
	}
	e.add(p)
}

// clock reports how good the clock source is: each latency costs two readings of it.
func (e *examination) clock() {
	name := e.report.Machine.Clock
	i := Item{ID: "clock", Group: Measure, Status: OK, What: "clock source " + name}
	switch name {
	case "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "pvclock":
	case "":
		i.Status, i.What, i.Why = Partly, "clock source", "the kernel doesn't name it"
	default:
		i.Status, i.Why = Partly, "reading it takes a system call or more, which inflates latencies of a few microseconds"
		if strings.Contains(device.Text(e.o.FS.Sys, "devices/system/clocksource/clocksource0/available_clocksource"), "tsc") {
			i.Fix = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"
		}
	}
	e.add(i)
}

// power examines the CPU governor and the power supply.
func (e *examination) power() {
	i := Item{ID: "governor", Group: Measure, Status: OK}
	governors := map[string]int{}
	names, _ := filepath.Glob(filepath.Join(e.o.FS.Sys, "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	for _, n := range names {
		governors[device.Text(n)]++
	}
	switch {
	case len(names) == 0:
		i.What, i.Why = "CPU frequency", "this kernel does not control it"
	case governors["performance"] == len(names):
		i.What = "CPU governor performance"
	default:
		var list []string
		for g := range governors {
			list = append(list, g)
		}
		i.Status, i.What = Partly, "CPU governor "+strings.Join(sorted(list), ", ")
		i.Why, i.Fix = "the CPU may run slowly during short I/O", "cpupower frequency-set -g performance"
	}
	e.add(i)
	supplies, _ := filepath.Glob(filepath.Join(e.o.FS.Sys, "class/power_supply/*"))
	for _, s := range supplies {
		if device.Text(s, "type") == "Mains" && device.Text(s, "online") == "0" {
			e.add(Item{"mains", Measure, Partly, "power", "the machine runs on its battery and may save power", "plug it in"})
		}
	}
}

// memory reports whether the workloads fit in memory.
func (e *examination) memory() {
	free, _ := procfs.Available(e.o.FS.Proc)
	i := Item{ID: "memory", Group: Measure, Status: OK, What: fmt.Sprintf("memory: %d of %d MiB available", free>>20, e.report.Machine.Memory>>20)}
	if free < lowMemory {
		i.Status, i.Why = Partly, "less than 1 GiB: cells on tmpfs or in the page cache may not fit"
	}
	e.add(i)
}

// quiet examines what else the machine does now.
func (e *examination) quiet() {
	loads := strings.Fields(device.Text(e.o.FS.Proc, "loadavg"))
	if len(loads) < 2 {
		return
	}
	load, _ := strconv.ParseFloat(loads[0], 64)
	i := Item{ID: "quiet", Group: Measure, Status: OK, What: fmt.Sprintf("other load now: %.2f on %d CPUs", load, e.report.Machine.CPUs)}
	var why []string
	if load > quietLoad*float64(e.report.Machine.CPUs) {
		why = append(why, "other work is running")
	}
	if io := pressure(device.Text(e.o.FS.Proc, "pressure", "io")); io > quietIO {
		why = append(why, fmt.Sprintf("tasks waited for I/O %.0f %% of the last 10 s", io))
	}
	if len(why) > 0 {
		i.Status, i.Why, i.Fix = Partly, strings.Join(why, "; ")+": intervals will be wide", "stop other work, or use more blocks"
	}
	e.add(i)
}

// pressure reads "some avg10=0.48 ..." in percent, 0 if it is missing.
func pressure(text string) float64 {
	for _, f := range strings.Fields(text) {
		if v, ok := strings.CutPrefix(f, "avg10="); ok {
			p, _ := strconv.ParseFloat(v, 64)
			return p
		}
	}
	return 0
}

// program finds one of several programs.
func (e *examination) program(names ...string) string {
	for _, n := range names {
		if p, err := e.o.LookPath(n); err == nil {
			return p
		}
	}
	return ""
}
