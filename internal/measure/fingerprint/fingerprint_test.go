package fingerprint

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/treetest"
)

func fixture(t *testing.T, files map[string]string) device.FS {
	t.Helper()
	root := treetest.Make(t, files)
	return device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

func TestMachine(t *testing.T) {
	got := Machine(fixture(t, map[string]string{
		"proc/sys/kernel/osrelease": "6.1.0-30-amd64\n",
		"proc/cpuinfo":              "processor\t: 0\nmodel name\t: Some   CPU @ 2.0GHz\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\nmodel name\t: Other\n",
		"proc/meminfo":              "MemTotal:       16384 kB\nMemFree: 1 kB\n",
		"proc/self/mountinfo":       "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:3 / /c rw - cgroup2 cgroup2 rw\n3 1 0:4 / /s rw - cgroup cgroup rw,name=systemd\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
		"sys/class/dmi/id/product_name":                                   "Standard PC (Q35 + ICH9, 2009)\n",
		"sys/class/dmi/id/sys_vendor":                                     "QEMU\n",
	}))
	host, _ := os.Hostname()
	want := record.Machine{
		Hostname: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Kernel: "6.1.0-30-amd64",
		CPUModel: "Some CPU @ 2.0GHz", Memory: 16 << 20, Virtual: "QEMU", Cgroup: "v2", Clock: "tsc",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Machine (-want +got):\n%s", diff)
	}
	// Nothing to read is no error, and the rest is there.
	if m := Machine(device.FS{}); m.CPUs == 0 || m.OS == "" || m.Memory != 0 {
		t.Errorf("Machine of nothing = %+v", m)
	}
}

func TestHypervisor(t *testing.T) {
	clocks := "sys/" + clockSource + "available_clocksource"
	const flag = "flags : fpu hypervisor\n"
	for _, tt := range []struct {
		name, info string
		files      map[string]string
		want       string
	}{
		{"metal", "flags : fpu\n", map[string]string{"sys/class/dmi/id/sys_vendor": "Dell Inc."}, ""},
		{"metal instance of a cloud", "flags : fpu\n", map[string]string{"sys/class/dmi/id/sys_vendor": "Amazon EC2"}, ""},
		{"laptop of a maker of hypervisors", "flags : fpu\n", map[string]string{"sys/class/dmi/id/sys_vendor": "Microsoft Corporation"}, ""},
		{"cloud", flag, map[string]string{"sys/class/dmi/id/sys_vendor": "Amazon EC2"}, "Amazon EC2"},
		{"hyper-v", flag, map[string]string{"sys/class/dmi/id/sys_vendor": "Microsoft Corporation"}, "Hyper-V"},
		{"arm has no flags", "CPU part : 0xd0c\n", map[string]string{"sys/class/dmi/id/product_name": "KVM Virtual Machine"}, "KVM"},
		{"no firmware, kvm's clock", flag, map[string]string{clocks: "tsc kvm-clock\n"}, "KVM"},
		{"xen", flag, map[string]string{"sys/hypervisor/type": "xen\n"}, "xen"},
		{"only the flag", flag, nil, "unnamed"},
	} {
		if got := hypervisor(fixture(t, tt.files), tt.info); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCPUModelAndMemory(t *testing.T) {
	for in, want := range map[string]string{
		"":             "",
		"model name\n": "",
		"CPU implementer : 0x41\nCPU part : 0xd0c\n": "implementer 0x41 part 0xd0c",
		"processor : 0\nModel : Raspberry Pi 4\n":    "Raspberry Pi 4",
	} {
		if got := cpuModel(in); got != want {
			t.Errorf("cpuModel(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]int64{
		"": 0, "MemTotal: x kB": 0, "MemTotal: -1 kB": 0, "MemTotal: 9223372036854775807 kB": 0, "MemTotal: 2 kB": 2048,
	} {
		if got := memTotal(in); got != want {
			t.Errorf("memTotal(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestCgroup(t *testing.T) {
	v1, named, v2 := device.Mount{FSType: "cgroup", Options: "rw,blkio"}, device.Mount{FSType: "cgroup", Options: "rw,name=systemd"}, device.Mount{FSType: "cgroup2"}
	for _, tt := range []struct {
		mounts []device.Mount
		want   string
	}{
		{nil, ""},
		{[]device.Mount{named}, ""},
		{[]device.Mount{named, v2}, "v2"},
		{[]device.Mount{v1, named}, "v1"},
		{[]device.Mount{v1, v2}, "hybrid"},
	} {
		if got := cgroup(tt.mounts); got != tt.want {
			t.Errorf("cgroup(%v) = %q, want %q", tt.mounts, got, tt.want)
		}
	}
}

func TestSame(t *testing.T) {
	a := record.Machine{Hostname: "a", OS: "linux", Arch: "amd64", Kernel: "6.1", CPUModel: "X", CPUs: 2, Memory: 1000 << 20, Cgroup: "v2", Clock: "tsc"}
	b := a
	b.Memory = 991 << 20
	if d := Same(a, b); d != nil {
		t.Errorf("0.9 %% less memory: %q, want none", d)
	}
	b.Memory, b.Kernel, b.Virtual, b.CPUs = 989<<20, "6.8", "KVM", 4
	want := []string{"kernel: 6.1 / 6.8", "CPUs: 2 / 4", "memory: 1000 MiB / 989 MiB", "hypervisor: none / KVM"}
	if diff := cmp.Diff(want, Same(a, b)); diff != "" {
		t.Errorf("Same (-want +got):\n%s", diff)
	}
}

func TestSameWhere(t *testing.T) {
	loop := func(name, beneath string) *record.Device {
		return &record.Device{Name: name, Scheduler: "none", Stack: []string{name, beneath}}
	}
	overlay := record.Where{FSType: "overlay", Kernel: "6.1", Options: "rw,lowerdir=/a,upperdir=/b,workdir=/c", Device: loop("loop1", "vda")}
	same := overlay
	same.Options, same.Device = "rw,lowerdir=/x,upperdir=/y,workdir=/z", loop("loop7", "vda")
	if d := SameWhere(overlay, same); d != nil {
		t.Errorf("another container's layer: %q, want none", d)
	}
	other := overlay
	other.Options, other.Device, other.Storage = "rw,volatile,noatime,lowerdir=/x", loop("loop7", "sdb"), "overlayfs"
	want := []string{"mount options: none / noatime,volatile", "devices beneath: vda / sdb", "storage driver: none / overlayfs"}
	if diff := cmp.Diff(want, SameWhere(overlay, other)); diff != "" {
		t.Errorf("SameWhere (-want +got):\n%s", diff)
	}
	tmpfs := record.Where{FSType: "tmpfs", Kernel: "6.1", Options: "rw", CgroupVersion: 1}
	want = []string{"file system: overlay / tmpfs", "device: loop1 / none"}
	if diff := cmp.Diff(want, SameWhere(overlay, tmpfs)); diff != "" {
		t.Errorf("SameWhere (-want +got):\n%s", diff)
	}
	nfsA, nfsB := record.Where{FSType: "nfs4", Source: "a:/x"}, record.Where{FSType: "nfs4", Source: "b:/x"}
	if diff := cmp.Diff([]string{"source: a:/x / b:/x"}, SameWhere(nfsA, nfsB)); diff != "" {
		t.Errorf("SameWhere (-want +got):\n%s", diff)
	}
}
