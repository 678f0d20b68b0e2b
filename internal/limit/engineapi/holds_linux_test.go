package engineapi

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/disktest"
)

// TestLacks: rates that the kernel has not, or has otherwise, in a container's group are found, by the device's number or its path.
func TestLacks(t *testing.T) {
	g := disktest.NewBlkioGroup(t)
	disk := loop(t)
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if err := g.Add(c.Process.Pid); err != nil {
		t.Fatal(err)
	}
	for file, rate := range map[string]int{"write_bps": 5 << 20, "read_iops": 70} {
		if err := g.Put("blkio.throttle."+file+"_device", fmt.Sprintf("%s %d", disk.Number, rate)); err != nil {
			t.Fatal(err)
		}
	}
	of := target.Target{Kind: target.Container, ID: filepath.Base(string(g)), PID: c.Process.Pid}
	with := func(set func(*Device)) Device {
		d := disk
		set(&d)
		return d
	}
	both := with(func(d *Device) { d.WriteBPS, d.ReadIOPS = 5<<20, 70 })
	for _, x := range []struct {
		name  string
		d     Device
		lacks bool
	}{
		{"both", both, false},
		{"by its path", Device{Path: disk.Path, WriteBPS: 5 << 20}, false},
		{"nothing", disk, false},
		{"another rate", with(func(d *Device) { d.WriteBPS = 6 << 20 }), true},
		{"another kind", with(func(d *Device) { d.ReadBPS = 5 << 20 }), true},
		{"one of two", with(func(d *Device) { d.ReadIOPS, d.WriteIOPS = 70, 70 }), true},
		{"another device", Device{Path: "/dev/none", Number: device.Number{Major: disk.Number.Major, Minor: disk.Number.Minor + 1000}, WriteBPS: 5 << 20}, true},
	} {
		d, err := lacks(device.Host(), of, []Device{both, x.d})
		if err != nil || (d != nil) != x.lacks {
			t.Errorf("%s: lacks() = %+v, %v, want that it lacks something: %v", x.name, d, err, x.lacks)
		}
		if d != nil && *d != x.d {
			t.Errorf("%s: lacks() = %+v, want %+v", x.name, *d, x.d)
		}
	}
	of.ID = "another"
	if d, err := lacks(device.Host(), of, []Device{both}); err == nil {
		t.Errorf("of a process in another's group: %+v", d)
	}
}
