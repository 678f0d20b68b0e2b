package witness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/load"
)

// TestForeignLimitReal: a trial that the worker's group holds back, or the root group where the worker is in that, is in doubt, with the
// group, its file and the value; one below no limit isn't.
func TestForeignLimitReal(t *testing.T) {
	t.Parallel()
	group := disktest.NewBlkioGroup(t)
	loop, dir := disk(t, "")
	b := newBench(t, dir)
	b.run(t, job(load.RandWrite, 1)) // The layout.
	wantNone(t, b.run(t, job(load.RandWrite, 400)), check.Foreign)
	// Well below what a busy machine writes: a limit that is never reached raises no doubt.
	const file, rate = "blkio.throttle.write_bps_device", 512 << 10
	number := disktest.Number(t, loop)
	if err := group.Put(file, fmt.Sprintf("%s %d", number, rate)); err != nil {
		t.Fatal(err)
	}
	if err := group.Add(b.agent.Session.Info().PID); err != nil {
		t.Fatal(err)
	}
	tr := b.run(t, job(load.RandWrite, 200))
	name := "/" + filepath.Base(string(group))
	wantWarning(t, tr, check.Foreign, record.Doubt, "write_bps=512KiB on "+filepath.Base(loop)+" ("+number+") in "+name)
	has, _ := device.ParseNumber(number)
	want := []limit.Applied{{Key: limit.WriteBPS, Value: rate, Device: filepath.Base(loop), Number: has, By: limit.ByGroup, Group: name, File: file}}
	if d := cmp.Diff(want, tr.Where[0].Foreign); d != "" {
		t.Errorf("limits (-want +got):\n%s", d)
	}
	// The window is the limit's: reads aren't.
	wantNone(t, b.run(t, job(load.RandRead, 400)), check.Foreign)
	// A limit that is set in the course of the trial is seen at its end.
	if err := group.Put(file, number+" 0"); err != nil {
		t.Fatal(err)
	}
	b.during = func() {
		if err := group.Put(file, fmt.Sprintf("%s %d", number, rate)); err != nil {
			t.Error(err)
		}
	}
	wantWarning(t, b.run(t, job(load.RandWrite, 400)), check.Foreign, record.Doubt, "in "+name)
}

// TestForeignLimitsAbove: with version 2 all groups above the worker's hold it, on each device that the place stands on.
func TestForeignLimitsAbove(t *testing.T) {
	root := treetest.Make(t, map[string]string{
		"proc/self/mountinfo":                  "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:32 / ROOT/cg rw - cgroup2 cgroup2 rw\n",
		"proc/10/cgroup":                       "0::/slice/box\n",
		"cg/cgroup.controllers":                "cpu io memory\n",
		"cg/slice/io.max":                      "253:0 rbps=max wbps=5000 riops=max wiops=max\n8:0 rbps=max wbps=max riops=max wiops=70\n8:32 rbps=1 wbps=1 riops=1 wiops=1\n",
		"cg/slice/box/io.max":                  "",
		"sys/dev/block/253:0":                  "-> sys/devices/dm-0",
		"sys/dev/block/8:0":                    "-> sys/devices/sda",
		"sys/devices/dm-0/dev":                 "253:0\n",
		"sys/devices/dm-0/dm/name":             "vg-data\n",
		"sys/devices/dm-0/slaves/sda":          "-> sys/devices/sda",
		"sys/devices/sda/dev":                  "8:0\n",
		"sys/devices/sda/queue/max_sectors_kb": "128\n",
	})
	a := &agent.Agent{Session: session{info: engine.Info{PID: 10}}, Hello: wire.Hello{Mount: device.Mount{Number: device.Number{Major: 253}, FSType: "ext4", Source: "/dev/mapper/vg-data", Root: "/", Point: "/data"}}}
	after := New(device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}).Before([]*agent.Agent{a}, "")
	// One that goes meanwhile counts, and one that comes.
	if err := os.WriteFile(filepath.Join(root, "cg/slice/box/io.max"), []byte("253:0 rbps=9000 wbps=max riops=max wiops=max\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "cg/slice/io.max"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	trial := &record.Trial{}
	after(trial)
	var got []string
	for _, l := range trial.Where[0].Foreign {
		got = append(got, l.String()+", "+l.File)
	}
	want := "write_bps=5000 on dm-0 (253:0) in /slice, io.max|write_iops=70 on sda (8:0) in /slice, io.max|read_bps=9000 on dm-0 (253:0) in /slice/box, io.max"
	if strings.Join(got, "|") != want {
		t.Errorf("limits %q, want %q", got, want)
	}
}
