package engineapi

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/system"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/host/device"
	"plimsoll/internal/text/refusal"
)

// linux and windows are daemons elsewhere, so that this machine's devices don't count.
func linux() *dockerapi.Daemon {
	return &dockerapi.Daemon{
		Name: "docker", Version: "29.7.2", APIVersion: "1.55", OS: "linux", Elsewhere: "far",
		Info: system.Info{NCPU: 2, CPUShares: true, CPUCfsQuota: true, MemoryLimit: true, CgroupVersion: "2", KernelVersion: "6.1.0"},
	}
}

func windows() *dockerapi.Daemon {
	return &dockerapi.Daemon{Name: "docker", Version: "27.3.1", APIVersion: "1.47", OS: "windows", Elsewhere: "far", Info: system.Info{NCPU: 4, OSType: "windows"}}
}

var sdb = Device{Path: "/dev/sdb", Number: device.Number{Major: 8, Minor: 16}, ReadBPS: 1, WriteBPS: 2, ReadIOPS: 3, WriteIOPS: 4, Weight: 500}

// TestCreateRefused: what a daemon would refuse or drop is refused in its words.
func TestCreateRefused(t *testing.T) {
	device := func(set func(*Device)) Resources {
		d := Device{Path: "/dev/sdb"}
		set(&d)
		return Resources{Devices: []Device{d}}
	}
	warned := func(w string) *dockerapi.Daemon {
		d := linux()
		d.Info.Warnings = []string{"WARNING: " + w}
		return d
	}
	v1, without := linux(), linux()
	v1.Info.CgroupVersion = "1"
	without.Info = system.Info{NCPU: 2, CgroupVersion: "2"}
	rootless := linux()
	rootless.Info.CgroupDriver = "none"
	for _, x := range []struct {
		d           *dockerapi.Daemon
		l           Resources
		unsupported bool
		want        string
	}{
		{linux(), Resources{CPUs: math.NaN()}, false, "not a number of CPUs"},
		{linux(), Resources{CPUs: math.Inf(1)}, false, "not a number of CPUs"},
		{linux(), Resources{CPUs: -1}, false, "not a number of CPUs"},
		{linux(), Resources{CPUs: 2.5}, false, "range of CPUs is from 0.01 to 2.00"},
		{linux(), Resources{CPUs: 0.001}, false, "range of CPUs is from 0.01"},
		{linux(), Resources{CPUShares: -1}, false, "negative"},
		{linux(), Resources{Memory: -1}, false, "negative"},
		{linux(), Resources{Memory: 1}, false, "Minimum memory limit allowed is 6MB"},
		{linux(), Resources{Weight: 9}, false, "10 to 1000"},
		{linux(), Resources{Weight: 1001}, false, "10 to 1000"},
		{linux(), device(func(d *Device) { d.Weight = 1001 }), false, "10 to 1000"},
		{linux(), device(func(d *Device) { d.Path, d.ReadBPS = "", 1 }), false, "has no path"},
		{linux(), Resources{SystemBPS: 1}, true, "QoS maximum bandwidth configuration is not supported on linux"},
		{linux(), Resources{SystemIOPS: 1}, true, "QoS maximum IOPs configuration is not supported on linux"},
		{linux(), Resources{CPUPercent: 1}, true, "linux does not support CPU percent"},
		{linux(), Resources{CPUCount: 1}, true, "for Windows"},
		{linux(), Resources{Isolation: "hyperv"}, true, "invalid isolation (hyperv): linux only supports 'default'"},
		{warned("No io.weight support"), Resources{Weight: 100}, true, "No io.weight support"},
		{warned("No io.weight (per device) support"), device(func(d *Device) { d.Weight = 100 }), true, "No io.weight (per device) support"},
		{warned("No io.max (rbps) support"), device(func(d *Device) { d.ReadBPS = 1 }), true, "rbps"},
		{warned("No io.max (wbps) support"), device(func(d *Device) { d.WriteBPS = 1 }), true, "wbps"},
		{warned("No blkio throttle.read_iops_device support"), device(func(d *Device) { d.ReadIOPS = 1 }), true, "read_iops_device"},
		{warned("No io.max (wiops) support"), device(func(d *Device) { d.WriteIOPS = 1 }), true, "wiops"},
		{v1, Resources{Weight: 100}, true, "Your kernel does not support Block I/O weight"},
		{without, Resources{CPUShares: 1}, true, "No cpu shares support"},
		{without, Resources{CPUs: 1}, true, "No cpu cfs quota support"},
		{without, Resources{Memory: 1 << 30}, true, "No memory limit support"},
		{rootless, Resources{Memory: 1 << 30}, true, "rootless-mode without cgroups"},

		{windows(), device(func(d *Device) { d.ReadBPS = 1 }), true, "invalid option: Windows does not support BlkioDeviceReadBps"},
		{windows(), device(func(d *Device) { d.WriteBPS = 1 }), true, "invalid option: Windows does not support BlkioDeviceWriteBps"},
		{windows(), device(func(d *Device) { d.ReadIOPS = 1 }), true, "invalid option: Windows does not support BlkioDeviceReadIOps"},
		{windows(), device(func(d *Device) { d.WriteIOPS = 1 }), true, "invalid option: Windows does not support BlkioDeviceWriteIOps"},
		{windows(), device(func(d *Device) { d.Weight = 10 }), true, "invalid option: Windows does not support BlkioWeightDevice"},
		{windows(), Resources{Weight: 100}, true, "invalid option: Windows does not support BlkioWeight"},
		{windows(), Resources{Isolation: "vm"}, false, "invalid isolation (vm): Windows supports 'default', 'process', or 'hyperv'"},
		{windows(), Resources{CPUShares: 10001}, false, "range of CPUShares is from 1 to 10000"},
		{windows(), Resources{CPUPercent: 101}, false, "range of CPUPercent is from 1 to 100"},
		{windows(), Resources{CPUCount: -1}, false, "CPUCount cannot be negative"},
		{windows(), Resources{CPUs: 1, CPUPercent: 10}, false, "Nano CPUs and CPU Percent cannot both be set"},
		{windows(), Resources{CPUs: 1, CPUShares: 10}, false, "Nano CPUs and CPU Shares cannot both be set"},
		{windows(), Resources{CPUCount: 1, CPUShares: 10}, false, "CPU count takes priority over CPU shares"},
		{windows(), Resources{CPUCount: 1, CPUPercent: 10}, false, "CPU count takes priority over CPU percent"},
		{windows(), Resources{CPUShares: 1, CPUPercent: 10}, false, "CPU shares takes priority over CPU percent"},
		{windows(), Resources{CPUs: 5}, false, "range of CPUs is from 0.01 to 4.00"},
	} {
		host := &container.HostConfig{}
		err := Create(x.d, x.l, host)
		var u *refusal.Error
		if err == nil || !strings.Contains(err.Error(), x.want) || errors.As(err, &u) != x.unsupported {
			t.Errorf("Create(%s, %+v) = %v, want %q, unsupported: %v", x.d.OS, x.l, err, x.want, x.unsupported)
		}
		if diff := cmp.Diff(&container.HostConfig{}, host); diff != "" {
			t.Errorf("Create(%s, %+v) was refused and changed the request: %s", x.d.OS, x.l, diff)
		}
	}
}

// TestCreate: the request's limits, and nothing else of it.
func TestCreate(t *testing.T) {
	host := &container.HostConfig{AutoRemove: true}
	if err := Create(linux(), Resources{Devices: []Device{sdb, {Path: "/dev/sdc", WriteBPS: 9}}, Weight: 100, CPUs: 1.5, CPUShares: 512, Memory: 1 << 30}, host); err != nil {
		t.Fatal(err)
	}
	rate := func(path string, n uint64) *blkiodev.ThrottleDevice {
		return &blkiodev.ThrottleDevice{Path: path, Rate: n}
	}
	want := &container.HostConfig{AutoRemove: true, Resources: container.Resources{
		BlkioWeight: 100, NanoCPUs: 1_500_000_000, CPUShares: 512, Memory: 1 << 30,
		BlkioDeviceReadBps:   []*blkiodev.ThrottleDevice{rate("/dev/sdb", 1)},
		BlkioDeviceWriteBps:  []*blkiodev.ThrottleDevice{rate("/dev/sdb", 2), rate("/dev/sdc", 9)},
		BlkioDeviceReadIOps:  []*blkiodev.ThrottleDevice{rate("/dev/sdb", 3)},
		BlkioDeviceWriteIOps: []*blkiodev.ThrottleDevice{rate("/dev/sdb", 4)},
		BlkioWeightDevice:    []*blkiodev.WeightDevice{{Path: "/dev/sdb", Weight: 500}},
	}}
	if diff := cmp.Diff(want, host); diff != "" {
		t.Error(diff)
	}
	host = &container.HostConfig{}
	if err := Create(windows(), Resources{SystemBPS: 1 << 20, SystemIOPS: 500, CPUCount: 2, Memory: 1 << 20, Isolation: "Process"}, host); err != nil {
		t.Fatal(err)
	}
	want = &container.HostConfig{Isolation: "process", Resources: container.Resources{IOMaximumBandwidth: 1 << 20, IOMaximumIOps: 500, CPUCount: 2, Memory: 1 << 20}}
	if diff := cmp.Diff(want, host); diff != "" {
		t.Error(diff)
	}
	host = &container.HostConfig{}
	if err := Create(windows(), Resources{CPUCount: 2, CPUPercent: 50, Isolation: "hyperv"}, host); err != nil || !host.Isolation.IsHyperV() || host.CPUPercent != 50 {
		t.Errorf("hyperv takes both: %v, %+v", err, host)
	}
}

// TestCheckDevices: what Docker would take and the kernel then refuse with "no such device".
func TestCheckDevices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                       "is not a block device; plimsoll limit explain " + file,
		filepath.Dir(file):         "is not a block device",
		os.DevNull:                 "is not a block device",
		filepath.Join(file, "sub"): "device " + file,
		"/dev/plimsoll-no-such":    "no such file",
	} {
		if err := checkDevices([]Device{{Path: path, ReadBPS: 1}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestSwap(t *testing.T) {
	for _, x := range []struct{ memory, before, beforeSwap, want int64 }{
		{0, 0, 0, 0},
		{100, 0, 0, 200},
		{100, 50, 100, 0},
		{100, 50, 80, 200},
		{100, 50, -1, -1},
		{1<<62 - 1, 0, 0, 1<<63 - 2},
		{1 << 62, 0, 0, -1},
		{math.MaxInt64, 0, 0, -1},
	} {
		if got := swap(x.memory, x.before, x.beforeSwap); got != x.want {
			t.Errorf("swap(%d, %d, %d) = %d, want %d", x.memory, x.before, x.beforeSwap, got, x.want)
		}
	}
}
