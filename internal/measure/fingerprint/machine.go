// Package fingerprint describes the machine behind a number, and the differences between two machines or two places, so
// that figures of different ones are never compared silently.
//
// A fingerprint contains only facts that the kernel shows to any process. It is not an identity: two machines of the
// same type have the same fingerprint except for their names.
package fingerprint

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
)

// Machine returns the fingerprint of the machine whose procfs and sysfs are fs. Unknown values stay empty; there is no
// error. On systems other than Linux it has the name, the system, the architecture and the number of CPUs.
func Machine(fs device.FS) record.Machine {
	m := record.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	m.Hostname, _ = os.Hostname()
	m.Kernel = read(fs.Proc, "sys/kernel/osrelease")
	info := read(fs.Proc, "cpuinfo")
	m.CPUModel = cpuModel(info)
	m.Memory = memTotal(read(fs.Proc, "meminfo"))
	m.Virtual = hypervisor(fs, info)
	m.Clock = read(fs.Sys, clockSource+"current_clocksource")
	if mounts, err := fs.Mounts(); err == nil {
		m.Cgroup = cgroup(mounts)
	}
	return m
}

const clockSource = "devices/system/clocksource/clocksource0/"

// cpuModel reads /proc/cpuinfo, whose keys differ by architecture: "model name" on x86; ARM has numbers of implementer
// and part, and on some boards a "Model".
func cpuModel(info string) string {
	for _, key := range []string{"model name", "Model", "cpu model", "Hardware"} {
		if v := field(info, key); v != "" {
			return v
		}
	}
	if v := field(info, "CPU implementer"); v != "" {
		return "implementer " + v + " part " + field(info, "CPU part")
	}
	return ""
}

// field returns the value of the first line "key : value".
func field(text, key string) string {
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(k) == key {
			return strings.Join(strings.Fields(v), " ")
		}
	}
	return ""
}

// memTotal reads /proc/meminfo: "MemTotal: 16384 kB", where kB is 1024 bytes.
func memTotal(info string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(field(info, "MemTotal"), " kB"), 10, 64)
	if err != nil || n < 0 || n > 1<<52 {
		return 0
	}
	return n * 1024
}

// vendors maps the machine's vendor, as reported by firmware, to the hypervisor. The strings are those that
// systemd-detect-virt knows (src/basic/virt.c).
var vendors = []struct{ prefix, name string }{
	{"KVM", "KVM"},
	{"OpenStack", "KVM (OpenStack)"},
	{"Amazon EC2", "Amazon EC2"},
	{"QEMU", "QEMU"},
	{"VMware", "VMware"},
	{"VMW", "VMware"},
	{"innotek GmbH", "VirtualBox"},
	{"VirtualBox", "VirtualBox"},
	{"Xen", "Xen"},
	{"Bochs", "Bochs"},
	{"Parallels", "Parallels"},
	{"BHYVE", "bhyve"},
	{"Hyper-V", "Hyper-V"},
	{"Google Compute Engine", "Google Compute Engine"},
	{"Apple Virtualization", "Apple Virtualization"},
	{"DigitalOcean", "KVM (DigitalOcean)"},
	{"Hetzner", "KVM (Hetzner)"},
}

// hypervisor names the hypervisor: by firmware, by a paravirtual clock or Xen's folder, or "unnamed" if only the CPU's
// flag shows it.
func hypervisor(fs device.FS, info string) string {
	flags := strings.Fields(field(info, "flags"))
	virtual := false
	for _, f := range flags {
		virtual = virtual || f == "hypervisor"
	}
	for _, name := range []string{"product_name", "sys_vendor", "board_vendor", "bios_vendor"} {
		said := read(fs.Sys, "class/dmi/id/"+name)
		for _, v := range vendors {
			// A metal instance of a cloud has the vendor's name but not the flag.
			if strings.HasPrefix(said, v.prefix) && (virtual || len(flags) == 0) {
				return v.name
			}
		}
		// Surface laptops are Microsoft's too, so only the flag proves Hyper-V.
		if virtual && strings.HasPrefix(said, "Microsoft Corporation") {
			return "Hyper-V"
		}
	}
	if said := read(fs.Sys, "hypervisor/type"); said != "" {
		return said
	}
	clocks := read(fs.Sys, clockSource+"available_clocksource")
	switch {
	case strings.Contains(clocks, "kvm-clock"):
		return "KVM"
	case strings.Contains(clocks, "hyperv_clocksource"):
		return "Hyper-V"
	case virtual:
		return "unnamed"
	}
	return ""
}

// cgroup reports which versions of control groups are mounted. Version 1 counts if it has a controller; systemd's named
// hierarchy alone doesn't.
func cgroup(mounts []device.Mount) string {
	v1, v2 := false, false
	for _, m := range mounts {
		switch {
		case m.FSType == "cgroup2":
			v2 = true
		case m.FSType == "cgroup" && !strings.Contains(m.Options, "name="):
			v1 = true
		}
	}
	switch {
	case v1 && v2:
		return "hybrid"
	case v1:
		return "v1"
	case v2:
		return "v2"
	}
	return ""
}

// read returns a file's trimmed contents, or "" if it can't be read or there is no such root.
func read(root, name string) string {
	if root == "" {
		return ""
	}
	return device.Text(root, filepath.FromSlash(name))
}
