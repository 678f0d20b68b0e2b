package doctor

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/load"
)

// fakeEngine answers Probe only.
type fakeEngine struct {
	engine.Engine
	name  string
	probe engine.Probe
}

func (f fakeEngine) Name() string                       { return f.name }
func (f fakeEngine) Probe(context.Context) engine.Probe { return f.probe }

// machine is a procfs, sysfs, dev and modules in a temporary folder; ROOT in a file's
// content stands for that.
func machine(t *testing.T, files map[string]string) Options {
	t.Helper()
	root := treetest.Make(t, files)
	return Options{
		FS:       device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")},
		StateDir: filepath.Join(root, "state"),
		LookPath: func(string) (string, error) { return "", errors.New("not found") },
		ProbeIO: func(string) []load.Probe {
			return []load.Probe{{Engine: load.IOUring, Reason: "forbidden by seccomp"}, {Engine: load.PSync, OK: true}, {Engine: load.Null, OK: true}}
		},
		Dev: filepath.Join(root, "dev"), Modules: filepath.Join(root, "modules"),
	}
}

// v1 and v2 are machines with one cgroup version each.
func v1() map[string]string {
	return map[string]string{
		"proc/self/mountinfo": `1 0 8:1 / / rw - ext4 /dev/a rw
2 1 0:30 / ROOT/cg/blkio rw - cgroup cgroup rw,blkio
3 1 0:31 / ROOT/cg/unified rw - cgroup2 cgroup2 rw
`,
		"cg/blkio/blkio.throttle.write_bps_device": "",
		"cg/unified/cgroup.controllers":            "hugetlb\n",
		"proc/filesystems":                         "nodev\ttmpfs\n\text4\nnodev\toverlay\n",
		"proc/diskstats":                           "8 0 sda 1\n",
		"proc/self/io":                             "read_bytes: 0\n",
		"proc/loadavg":                             "3000.00 1.00 1.00 1/2 3\n",
		"proc/pressure/io":                         "some avg10=6.10 avg60=0 avg300=0 total=1\n",
		"proc/meminfo":                             "MemTotal: 2097152 kB\nMemAvailable: 524288 kB\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource":   "hpet\n",
		"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":              "powersave\n",
		"sys/block/sda/queue/scheduler":                                     "[none] mq-deadline\n",
		"modules/modules.dep":                                               "kernel/fs/xfs/xfs.ko.xz: kernel/lib/x.ko\nkernel/drivers/md/dm-mod.ko:\n",
		"dev/loop-control":                                                  "",
		"dev/kvm":                                                           "",
	}
}

func v2() map[string]string {
	return map[string]string{
		"proc/self/mountinfo":              "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup2 cgroup2 rw\n",
		"cg/cgroup.controllers":            "cpu io memory\n",
		"cg/system.slice/x.service/io.max": "",
		"cg/system.slice/io.bfq.weight":    "",
		"cg/io.cost.qos":                   "",
		"sys/block/sda/dev":                "8:0\n",
		"sys/block/sda/queue/scheduler":    "none [bfq]\n",
		"sys/block/loop0/queue/scheduler":  "[bfq]\n",
		"proc/filesystems":                 "\text4\n",
		"proc/loadavg":                     "0.10 0.1 0.1 1/2 3\n",
		"proc/meminfo":                     "MemAvailable: 8388608 kB\n",
	}
}

// nested is a container on a machine with version 2, which sees its own group as the root.
func nested() map[string]string {
	m := v2()
	m["cg/cgroup.type"], m["cg/cgroup.procs"], m["cg/cgroup.subtree_control"] = "domain\n", "1\n", "memory\n"
	return m
}

func items(r Report) map[string]Item {
	m := make(map[string]Item)
	for _, i := range r.Items {
		m[i.ID] = i
	}
	return m
}

func TestLook(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
	}{
		{"version 1", v1()}, {"version 2", v2()}, {"in a container", nested()},
	} {
		o := machine(t, tt.files)
		var sheet golden.Sheet
		for _, i := range Look(t.Context(), o).Items {
			sheet.Add(i.ID+": "+i.Status+", "+i.What, strings.TrimSpace(i.Why+"\n"+i.Fix))
		}
		sheet.Check(t, strings.ReplaceAll(tt.name, " ", "-")+".txt", golden.Text(filepath.Dir(o.Dev), "ROOT"),
			golden.Pattern(`on \d+ CPUs?`, "on N CPUs"), golden.Pattern(`qemu-system-\w+`, "qemu-system-ARCH"))
	}
}

func TestWeights(t *testing.T) {
	for _, tt := range []struct {
		name, file, content, status, text string
	}{
		{"iocost", "cg/io.cost.qos", "8:0 enable=1 ctrl=auto\n", OK, ""},
		{"iocost off", "cg/io.cost.qos", "8:0 enable=0\n", Partly, "echo \"8:0 enable=1\""},
		{"iocost for another disk", "cg/io.cost.qos", "8:16 enable=1\n", Partly, "echo \"8:0 enable=1\""},
		{"bfq could", "sys/block/sda/queue/scheduler", "[none] bfq\n", Partly, "echo bfq > /sys/block/sda"},
	} {
		files := v2()
		files["sys/block/sda/queue/scheduler"] = "[none]\n"
		files[tt.file] = tt.content
		i := items(Look(t.Context(), machine(t, files)))["limit/weight"]
		if i.Status != tt.status || !strings.Contains(i.Fix, tt.text) {
			t.Errorf("%s: %+v, want %s with %q", tt.name, i, tt.status, tt.text)
		}
	}
	files := v2()
	delete(files, "cg/system.slice/io.bfq.weight")
	if i := items(Look(t.Context(), machine(t, files)))["limit/weight"]; i.Status != No {
		t.Errorf("bfq without a weight file: %+v, want no", i)
	}
}

func TestLookEngines(t *testing.T) {
	o := machine(t, v1())
	o.Engines = []engine.Engine{
		fakeEngine{name: "host", probe: engine.Probe{Missing: "no folder", Fix: "make one"}},
		fakeEngine{name: "oci", probe: engine.Probe{OK: true, Version: "runc 1.1.5", Notes: []string{"crun refuses"}}},
	}
	r := Look(t.Context(), o)
	got := items(r)
	if i := got["engine/host"]; i.Status != No || i.Why != "no folder" || i.Fix != "make one" {
		t.Errorf("host = %+v", i)
	}
	if !r.HostImpossible {
		t.Error("host is possible")
	}
	if i := got["engine/oci"]; i.Status != OK || i.What != "engine oci (runc 1.1.5)" || i.Why != "crun refuses" {
		t.Errorf("oci = %+v", i)
	}
	o.Engines = nil
	if r := Look(t.Context(), o); r.HostImpossible {
		t.Error("psync works, yet measuring is called impossible")
	}
	o.ProbeIO = func(string) []load.Probe { return []load.Probe{{Engine: load.PSync}, {Engine: load.Null, OK: true}} }
	if r := Look(t.Context(), o); !r.HostImpossible {
		t.Error("nothing but null works, yet measuring is called possible")
	}
}

func TestLookShares(t *testing.T) {
	e := &examination{}
	e.shares("vm", []vm.Share{{Name: "9p"}, {Name: "smb", Missing: "no smbd", Fix: "install it"}})
	want := []Item{
		{ID: "share/9p", Group: Measure, Status: OK, What: "share 9p of the engine vm"},
		{ID: "share/smb", Group: Measure, Status: No, What: "share smb of the engine vm", Why: "no smbd", Fix: "install it"},
	}
	if !slices.Equal(e.report.Items, want) {
		t.Errorf("%+v, want %+v", e.report.Items, want)
	}
}

func TestLookElsewhere(t *testing.T) {
	o := machine(t, nil)
	r := Look(t.Context(), o)
	if got := items(r); got["linux"].Status != No || len(r.Items) != 4 {
		t.Errorf("items without procfs = %+v, want the I/O engines, the state folder and that it isn't Linux", r.Items)
	}
}
