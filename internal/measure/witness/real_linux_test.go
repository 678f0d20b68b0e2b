package witness

import (
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// job is a block job of n direct I/Os of 8 KiB.
func job(rw string, n int64) workload.Spec {
	return workload.Spec{Kind: workload.Block, Job: load.Job{
		RW: rw, BS: 8192, Size: 4 << 20, NumberIOs: n, Direct: true, IOEngine: load.PSync,
	}}
}

// TestDeviceBytes: what the witness says went to the device is what the device says, which has
// nobody else.
func TestDeviceBytes(t *testing.T) {
	loop, dir := disk(t, "")
	b := newBench(t, dir)
	b.run(t, job(load.RandRead, 1)) // The layout, and what the file system reads once.
	for _, rw := range []string{load.RandRead, load.RandWrite, load.RandRW} {
		before := disktest.Count(t, loop)
		tr := b.run(t, job(rw, 1500))
		own := disktest.Count(t, loop).Since(before)
		tt := tr.Truth[0]
		if tt.Device != filepath.Base(loop) || tt.DeviceWhy != "" {
			t.Fatalf("%s: device %q, %s, want %s", rw, tt.Device, tt.DeviceWhy, loop)
		}
		if tr.Where[0].FSType != "ext4" || tr.Where[0].Device.Stack[0] != tt.Device {
			t.Fatalf("%s: place %+v, want ext4 on %s", rw, tr.Where, tt.Device)
		}
		if tt.AppRead+tt.AppWritten != 1500*8192 {
			t.Errorf("%s: the application moved %d and %d bytes, want 1500 blocks", rw, tt.AppRead, tt.AppWritten)
		}
		// The window lies within the test's two looks, and holds all of the job.
		if tt.DeviceRead < tt.AppRead || tt.DeviceRead > own.BytesRead {
			t.Errorf("%s: %d bytes read from the device; asked %d, and the device says %d", rw, tt.DeviceRead, tt.AppRead, own.BytesRead)
		}
		if tt.DeviceWritten < tt.AppWritten || tt.DeviceWritten > own.BytesWritten {
			t.Errorf("%s: %d bytes written to the device; asked %d, and the device says %d", rw, tt.DeviceWritten, tt.AppWritten, own.BytesWritten)
		}
		if tt.ProcRead != tt.AppRead || tt.ProcWritten != tt.AppWritten {
			t.Errorf("%s: the kernel charged %d and %d bytes, the application moved %d and %d", rw, tt.ProcRead, tt.ProcWritten, tt.AppRead, tt.AppWritten)
		}
		// On the host the group is everybody's.
		if tt.CgroupRead != -1 || tt.CgroupWritten != -1 {
			t.Errorf("%s: a group's bytes on the host: %d, %d", rw, tt.CgroupRead, tt.CgroupWritten)
		}
		wantNone(t, tr, check.Cache, check.Direct, check.Unwritten, check.DeviceUnknown)
	}
}

// TestOverlayBytes: the layer's bytes are found on the disk of its upper folder.
func TestOverlayBytes(t *testing.T) {
	loop, dir := disk(t, "")
	b := newBench(t, disktest.Overlay(t, dir))
	tr := b.run(t, job(load.RandWrite, 1500))
	tt := tr.Truth[0]
	if tr.Where[0].FSType != "overlay" || tt.Device != filepath.Base(loop) {
		t.Errorf("on %s, device %q, want overlay on %s", tr.Where[0].FSType, tt.Device, loop)
	}
	if tt.AppWritten != 1500*8192 {
		t.Errorf("the application wrote %d bytes, want 1,500 blocks", tt.AppWritten)
	}
	if tt.DeviceWritten < tt.AppWritten {
		t.Errorf("%d bytes reached the device, want all %d", tt.DeviceWritten, tt.AppWritten)
	}
	wantNone(t, tr, check.Cache, check.DeviceUnknown)
}

// TestBlockDeviceBytes: the place is the device itself.
func TestBlockDeviceBytes(t *testing.T) {
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	b := newBench(t, t.TempDir())
	b.target = loop
	before := disktest.Count(t, loop)
	tr := b.run(t, job(load.RandRead, 700))
	own := disktest.Count(t, loop).Since(before)
	tt := tr.Truth[0]
	if tt.Device != filepath.Base(loop) || tr.Where[0].Path != loop {
		t.Errorf("device %q, path %s, want %s", tt.Device, tr.Where[0].Path, loop)
	}
	if tt.AppRead != 700*8192 {
		t.Errorf("the application read %d bytes, want 700 blocks", tt.AppRead)
	}
	if tt.DeviceRead < tt.AppRead || tt.DeviceRead > own.BytesRead {
		t.Errorf("%d bytes came from the device, want %d at least and %d, its own count, at most", tt.DeviceRead, tt.AppRead, own.BytesRead)
	}
	// Beneath it is the page cache of its file, and a disk unless that is on a tmpfs. It shows
	// while no other program reads as much from that disk.
	stack := tr.Where[0].Device.Stack
	var others int64
	for _, d := range tr.Results[0].Disks {
		if d.Name == stack[len(stack)-1] {
			others = d.ReadBytes
		}
	}
	if len(stack) > 1 && others < tt.AppRead/4 {
		wantWarning(t, tr, check.Cache, record.Doubt, "went through "+filepath.Base(loop), "The page cache behind loop")
	} else {
		t.Logf("the disk beneath %v read %d bytes for others", stack, others)
		wantNone(t, tr, check.Direct)
	}
}

// foreign is a session on another machine: its process has no number here.
type foreign struct{ engine.Session }

func (f foreign) Info() engine.Info { return engine.Info{} }

// TestUnknownIsSaid: where there is no device, or it can't be known, the figures are unknown
// and the reason is in words.
func TestUnknownIsSaid(t *testing.T) {
	_, dir := disk(t, "")
	b := newBench(t, dir)
	memory := openBench(t, host.New(t.TempDir(), workertest.Source(t)), engine.Spec{Place: place.Spec{Name: "m", Kind: place.Tmpfs, Size: 16 << 20}})
	blind := *b
	blind.fs.Sys = t.TempDir()
	nowhere := *b
	nowhere.fs = device.FS{Proc: t.TempDir(), Sys: t.TempDir()}
	away := *b
	agent := *b.agent
	agent.Session = foreign{b.agent.Session}
	away.agent = &agent
	for _, row := range []struct {
		name     string
		b        *bench
		why      string
		severity string
		check    string
	}{
		{"memory", memory, "tmpfs is memory", record.Note, check.Cache},
		{"sysfs", &blind, "which sysfs doesn't show", record.Note, check.DeviceUnknown},
		{"procfs", &nowhere, "the device could not be found", record.Note, check.DeviceUnknown},
		{"another machine", &away, "does not run on this machine", record.Note, check.DeviceUnknown},
	} {
		tr := row.b.run(t, job(load.RandRead, 100))
		tt := tr.Truth[0]
		if tt.Device != "" {
			t.Errorf("%s: device %q, want none", row.name, tt.Device)
		}
		if tt.DeviceRead != -1 || tt.DeviceWritten != -1 || tt.DeviceBusy != -1 {
			t.Errorf("%s: %d, %d bytes, busy %v; want all unknown", row.name, tt.DeviceRead, tt.DeviceWritten, tt.DeviceBusy)
		}
		if got := tt.DeviceWhy; !strings.Contains(got, row.why) {
			t.Errorf("%s: why = %q, want %q", row.name, got, row.why)
		}
		if tt.AppRead != 100*8192 {
			t.Errorf("%s: the application read %d", row.name, tt.AppRead)
		}
		wantWarning(t, tr, row.check, row.severity)
	}
}
