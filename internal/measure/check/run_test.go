package check

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

// series makes trials of one cell, a minute apart, with these values.
func series(values ...float64) []record.Trial {
	var out []record.Trial
	for i, v := range values {
		t := clean()
		t.Order, t.Block, t.Value = i, i, v
		t.Started = time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
		out = append(out, *t)
	}
	return out
}

// each applies set to every trial.
func each(trials []record.Trial, set func(*record.Trial)) []record.Trial {
	for i := range trials {
		set(&trials[i])
	}
	return trials
}

func place(name string) func(*record.Trial) {
	return func(t *record.Trial) { t.Cell.Place, t.Key = name, name }
}

func TestRun(t *testing.T) {
	steady := []float64{3000, 3001, 3002}
	rising := func(change float64) []record.Trial {
		var out []record.Trial
		for c, cell := range []string{"a", "b"} {
			// Ten values from 1 to 1+change on a line, with a scatter of 1 %.
			for i := range 10 {
				tr := series(2000 * (1 + change*float64(i)/9) * (1 + 0.01*float64(i%2)))[0]
				tr.Order = 2*i + c
				tr.Started = time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
				place(cell)(&tr)
				out = append(out, tr)
			}
		}
		return out
	}
	engineB := func(e string) func(*record.Trial) {
		return func(t *record.Trial) { place("b")(t); t.Results[0].IOEngine = e }
	}
	buffers := func(to string, b string) func(*record.Trial) {
		return func(t *record.Trial) { place(to)(t); t.Results[0].Buffers = b }
	}
	otherDisk := func(t *record.Trial) {
		place("b")(t)
		d := *t.Where[0].Device
		d.Scheduler = "bfq"
		t.Where[0].Device = &d
	}
	overhead := func(part time.Duration) []record.Trial {
		return each(series(1000), func(t *record.Trial) { t.Wall, t.Overhead = 20*time.Second, part })
	}
	var sheet golden.Sheet
	for _, tt := range []struct {
		name   string
		trials []record.Trial
		want   string
	}{
		{"nothing", nil, ""},
		{"only failures", each(series(1, 2), func(t *record.Trial) { t.Status = record.Failed }), ""},

		{"flat on a cap", series(steady...), "cap/note"},
		{"flat beside a cap", series(3031, 3031, 3031), ""},
		{"on a cap, but not flat", series(2970, 3000, 3030), ""},
		{"two trials", series(3000, 3000), ""},
		{"flat on a limit", each(series(steady...), func(t *record.Trial) { t.Where[0].Limits = "read_iops=3000" }), ""},
		{"flat on a rate", each(series(steady...), func(t *record.Trial) { t.Spec.Job.RateIOPS = 3000 }), ""},
		{"flat in memory", each(series(steady...), func(t *record.Trial) { t.Where[0].Device = nil }), ""},
		{"bandwidth", each(series(125<<20, 125<<20, 125<<20), func(t *record.Trial) { t.Metric.Unit = "B/s" }), "cap/note"},

		{"first trial slow", series(69, 100, 110, 120), "first-touch/note"},
		{"first trial slow, beside other work", each(series(69, 100, 110, 120), func(t *record.Trial) {
			t.Warnings = []record.Warning{{Check: Neighbour, Severity: record.Doubt}}
		}), ""},
		{"first trial hardly slow", series(70, 100, 110, 120), ""},
		{"too few later ones", series(10, 100, 110), ""},

		{"drift", rising(0.15), "drift/note"},
		{"less drift", rising(0.08), ""},
		{"drift, few trials", rising(0.15)[:6], ""},
		{"drift of 11 %, of which 2 % are certain", series(2000, 2120, 2010, 2150, 2200, 2080, 2300, 2150, 2280, 2210), ""},

		{"one engine", append(series(1), each(series(2), engineB(load.IOUring))...), ""},
		{"two engines", append(series(1), each(series(2), engineB(load.PSync))...), "io-engine/doubt"},
		{"two engines, one at the A/A control", append(series(1), each(series(2), func(t *record.Trial) {
			engineB(load.PSync)(t)
			t.Cell.Place, t.Cell.Control = "dir", true
		})...), "io-engine/doubt"},
		{"two engines, other workloads", append(series(1), each(series(2), func(t *record.Trial) {
			engineB(load.PSync)(t)
			t.Cell.Workload = "other"
		})...), ""},

		{"buffers registered in one cell", append(each(series(1), buffers("a", load.BuffersRegistered)), each(series(2), buffers("b", load.BuffersPlain))...),
			"io-engine/doubt"},
		{"buffers registered nowhere", append(each(series(1), buffers("a", load.BuffersPlain)), each(series(2), buffers("b", load.BuffersPlain))...), ""},
		{"buffers of an engine that registers none", append(each(series(1), buffers("a", load.BuffersRegistered)), each(series(2), buffers("b", ""))...), ""},

		{"another scheduler", append(series(1), each(series(2), otherDisk)...), "unlike/note"},
		{"a memory limit from outside", append(series(1), each(series(2), func(t *record.Trial) { place("b")(t); t.Where[0].Memory = 64 << 20 })...),
			"unlike/note"},
		{"a memory limit, as asked", append(series(1), each(series(2), func(t *record.Trial) {
			place("b")(t)
			t.Where[0].Memory, t.Where[0].Limits = 64<<20, "memory=64MiB"
		})...), ""},
		{"another file system, as asked", append(series(1), each(series(2), func(t *record.Trial) { place("b")(t); t.Where[0].FSType = "overlay" })...), ""},
		{"tmpfs, as asked", append(series(1), each(series(2), func(t *record.Trial) { place("b")(t); t.Where[0].Device = nil })...), ""},
		{"kernel changed in between", append(series(1), func() record.Trial {
			tr := series(1, 2)[1]
			tr.Where[0].Kernel = "6.8"
			return tr
		}()), "unlike/doubt"},

		{"overhead at the limit", overhead(10 * time.Second), ""},
		{"overhead", overhead(10*time.Second + 1), "overhead/note"},
	} {
		ws := heard(testRun(), tt.trials)
		if got := summary(ws); got != tt.want {
			t.Errorf("%s: %q, want %q (%q)", tt.name, got, tt.want, texts(ws))
			continue
		}
		if len(ws) > 0 {
			sheet.Add(tt.name, strings.Join(texts(ws), "\n"))
		}
		checkForm(t, tt.name, ws)
	}
	sheet.Check(t, "TestRun.txt")
}

func TestRunNamesTheChosenEngine(t *testing.T) {
	run := testRun()
	run.IOEngine = map[string]record.EngineChoice{"randread": {Engine: load.PSync}}
	if got := summary(heard(run, series(1))); got != "io-engine/doubt" {
		t.Errorf("another engine than was chosen: %q", got)
	}
	run.IOEngine["randread"] = record.EngineChoice{Engine: load.IOUring}
	if got := summary(heard(run, series(1))); got != "" {
		t.Errorf("the engine that was chosen: %q", got)
	}
}

func TestRunUnlikeComparesWithTheBaseline(t *testing.T) {
	run := testRun()
	run.Baseline = map[string]string{"randread": "b"}
	trials := append(series(1), each(series(2), func(t *record.Trial) { place("b")(t); t.Where[0].Kernel = "6.8" })...)
	trials = append(trials, each(series(3), func(t *record.Trial) { place("c")(t); t.Where[0].Kernel = "6.8" })...)
	ws := heard(run, trials)
	if len(ws) != 1 || !strings.Contains(ws[0].Text, "(host/b and host/dir): kernel: 6.8 / 6.1") {
		t.Errorf("warnings = %q, want one of the cell that differs from the baseline", texts(ws))
	}
}

func TestRunIsFastEnoughForManyTrials(t *testing.T) {
	// No timing is asserted: at a quadratic cost this test would not end.
	trials := make([]record.Trial, 200_000)
	one := *clean()
	for i := range trials {
		trials[i] = one
		trials[i].Order = i
	}
	if ws := heard(testRun(), trials); len(ws) != 0 {
		t.Errorf("equal trials: %q", texts(ws))
	}
}

func TestTruth(t *testing.T) {
	dev := &record.Device{Name: "sda", Number: device.Number{Major: 8, Minor: 0}}
	done := workload.Result{
		Elapsed: 2, ProcRead: 10, ProcWritten: 20,
		Classes: []load.Class{{Name: "read", Bytes: 100}, {Name: "write", Bytes: 5}, {Name: "sync"}},
		Disks:   []workload.DiskDelta{{Number: device.Number{Major: 8, Minor: 1}, ReadBytes: 7}, {Number: device.Number{Major: 8}, ReadBytes: 300, WrittenBytes: 4, Busy: 9}},
	}
	got := Truth(&done, dev, "", 3, -1)
	want := record.Truth{
		AppRead: 100, AppWritten: 5, ProcRead: 10, ProcWritten: 20, CgroupRead: 3, CgroupWritten: -1,
		Device: "sda", DeviceRead: 300, DeviceWritten: 4, DeviceBusy: 9,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Truth (-want +got):\n%s", d)
	}
	for _, tt := range []struct {
		name   string
		result workload.Result
		dev    *record.Device
		read   int64
		why    string
	}{
		{"no device", done, nil, -1, "tmpfs is memory"},
		{"nothing counted", workload.Result{ProcRead: -1, ProcWritten: -1}, dev, -1, "the worker could not read"},
		{"an idle disk", workload.Result{ProcRead: 0, ProcWritten: 0}, dev, 0, "tmpfs is memory"},
	} {
		got := Truth(&tt.result, tt.dev, "tmpfs is memory", -1, -1)
		if got.DeviceRead != tt.read || got.DeviceWritten != tt.read || !strings.HasPrefix(got.DeviceWhy, tt.why) {
			t.Errorf("%s: %+v, want device bytes %d because %q", tt.name, got, tt.read, tt.why)
		}
	}
}

func TestWords(t *testing.T) {
	for in, want := range map[float64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 1010 << 10: "1010 KiB", 125 << 20: "125 MiB", 3 << 40: "3.0 TiB", 5000 << 40: "5000 TiB"} {
		if got := bytes(in); got != want {
			t.Errorf("bytes(%v) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[float64]string{0: "0 %", 0.004: "0.4 %", 0.5: "50 %", 1: "100 %"} {
		if got := percent(in); got != want {
			t.Errorf("percent(%v) = %q, want %q", in, got, want)
		}
	}
}
