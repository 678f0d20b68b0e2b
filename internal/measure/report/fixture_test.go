package report

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// fixture makes the records of a run without measuring anything: always the same ones.
type fixture struct {
	rng       *rand.Rand
	run       record.Run
	trials    []record.Trial
	histogram int // I/Os recorded per trial
}

// place is one row of the fixture: how its rate relates to the baseline.
type fixturePlace struct {
	engine, place string
	speed         float64
	noise         float64
	control       bool
}

var start = time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC)

// specs are the workloads of the fixture with the baseline's rate.
var specs = []struct {
	spec workload.Spec
	rate float64
}{
	{workload.Spec{Name: "randread-deep", Kind: workload.Block, Job: load.Job{RW: load.RandRead, BS: 4096, IODepth: 32, Direct: true, Size: 256 << 20, Runtime: 5 * time.Second}}, 182_300},
	{workload.Spec{Name: "seqwrite", Kind: workload.Block, Job: load.Job{RW: load.Write, BS: 1 << 20, IODepth: 4, Direct: true, Size: 1 << 30, Runtime: 5 * time.Second}}, 1600 << 20},
	{workload.Spec{Name: "wal", Kind: workload.WAL, BS: 2300, Runtime: time.Second}, 1890},
	{workload.Spec{Name: "append", Kind: workload.Append, BS: 64, Count: 10_000}, 61_400},
}

func newFixture() *fixture {
	return &fixture{
		rng: rand.New(rand.NewPCG(1, 2)), histogram: 20_000,
		run: record.Run{
			ID: "20261121-153000-3f9a", Plan: "places", Version: "0.1.0", Seed: 42, Blocks: 6, Started: start,
			PlanText: "name: places\nworkloads:\n  randread-deep: {rw: randread, bs: 4KiB, iodepth: 32, direct: true, size: 256MiB, runtime: 5s}\n  seqwrite: {rw: write, bs: 1MiB, iodepth: 4, direct: true, size: 1GiB, runtime: 5s}\n  wal: {kind: wal}\n  append: {kind: append, count: 10000}\nengines: [host, oci, docker]\nbaseline: {engine: host, place: dir}\nblocks: 6\n",
			Command:  "plimsoll run places --seed 42", Status: record.Done, Margin: 0.05,
			Machine:  record.Machine{Hostname: "quay", OS: "linux", Kernel: "6.1.0-30-amd64", Arch: "amd64", CPUModel: "Xeon (Skylake)", CPUs: 2, Memory: 8 << 30, Virtual: "kvm", Cgroup: "v2", Clock: "tsc"},
			Ceiling:  record.Ceiling{IOPS: 5_120_000, CPUs: 2},
			Baseline: map[string]string{},
			IOEngine: map[string]record.EngineChoice{"randread-deep": {Engine: "linux-aio", Why: "docker layer has no io_uring (seccomp)"}, "seqwrite": {Engine: "io_uring", Why: "the strongest that works in all cells"}},
		},
	}
}

// key is like the plan's keys: the cell's names in a row.
func key(c record.Cell) string {
	return fmt.Sprintf("%s/%s/%s/%s/%d/%t", c.Workload, c.Engine, c.Place, c.Limits, c.Clients, c.Control)
}

// fill runs all places in all blocks.
func (f *fixture) fill(places []fixturePlace, workloads int) {
	order := 0
	at := start
	for b := range f.run.Blocks {
		for w := range workloads {
			for _, p := range places {
				t := f.trial(w%len(specs), w/len(specs), p, b)
				t.Order, t.Started = order, at
				order++
				at = at.Add(t.Wall)
				f.trials = append(f.trials, t)
			}
		}
	}
	f.run.Ended = at
	f.run.Sessions = []record.Session{{Started: f.run.Started, Ended: at}}
}

func (f *fixture) trial(w, copyOf int, p fixturePlace, block int) record.Trial {
	spec := specs[w].spec
	if copyOf > 0 {
		spec.Name = fmt.Sprintf("%s-%d", spec.Name, copyOf+1)
	}
	c := record.Cell{Workload: spec.Name, Engine: p.engine, Place: p.place, Limits: "none", Clients: 1, Control: p.control}
	if p.engine == "host" && !p.control {
		f.run.Baseline[spec.Name] = key(c)
	}
	value := specs[w].rate * p.speed * math.Exp(f.rng.NormFloat64()*p.noise)
	window := 5 * time.Second
	ops := int64(value * window.Seconds())
	bytes := ops * 4096
	m := spec.Metric()
	if m.Unit == "B/s" {
		bytes, ops = ops, ops>>20
	}
	class := load.Class{Name: map[string]string{load.RandRead: "read", load.Write: "write"}[spec.Job.RW], Ops: ops, Bytes: bytes, Lat: f.latencies(value, m)}
	if spec.Kind != workload.Block {
		class.Name = map[workload.Kind]string{workload.WAL: "commit", workload.Append: "append"}[spec.Kind]
	}
	r := workload.Result{
		IOEngine: cmp.Or(f.run.IOEngine[specs[w].spec.Name].Engine, workload.Syscalls), Elapsed: window, Classes: []load.Class{class},
		Usage: load.Usage{User: time.Duration(ops) * 900, System: time.Duration(ops) * 2100},
	}
	for i := range 5 {
		share := 0.2 * math.Exp(f.rng.NormFloat64()*0.03)
		r.Samples = append(r.Samples, load.Sample{At: time.Duration(i+1) * time.Second, Ops: int64(share * float64(ops)), Bytes: int64(share * float64(bytes))})
	}
	t := record.Trial{
		Run: f.run.ID, Cell: c, Key: key(c), Block: block, Wall: 5200 * time.Millisecond, Overhead: 120 * time.Millisecond,
		Status: record.Done, Spec: spec, Metric: m, Value: value, Results: []workload.Result{r},
		Truth: []record.Truth{{AppRead: bytes, AppWritten: 0, Device: "vda", DeviceRead: bytes, DeviceWritten: 4096}},
		Where: []record.Where{{FSType: "ext4", Options: "rw,relatime", Source: "/dev/vda1", Kernel: "6.1.0-30-amd64", CgroupVersion: 2,
			Device: &record.Device{Name: "vda", Number: device.Number{Major: 254}, Size: 64 << 30, Scheduler: "none", NrRequests: 256, WriteCache: "write back", LogicalBS: 512, Stack: []string{"vda1", "vda"}}}},
	}
	if class.Name != "read" {
		t.Truth = []record.Truth{{AppWritten: bytes, Device: "vda", DeviceWritten: bytes + bytes/50}}
	}
	if p.place == "tmpfs" {
		t.Where = []record.Where{{FSType: "tmpfs", Options: "rw,size=512m", Source: "tmpfs", Kernel: t.Where[0].Kernel, CgroupVersion: 2}}
		t.Truth[0].Device, t.Truth[0].DeviceWhy = "", "tmpfs is memory"
	}
	return t
}

// latencies draws a log-normal histogram with a tail.
func (f *fixture) latencies(rate float64, m workload.Metric) *hist.Histogram {
	h := &hist.Histogram{}
	if m.Unit == "B/s" {
		rate /= 1 << 20
	}
	mid := 1e9 / rate * 4
	for range f.histogram {
		v := mid * math.Exp(f.rng.NormFloat64()*0.25)
		if f.rng.IntN(60) == 0 {
			v *= 5 + 3*f.rng.Float64()
		}
		h.Record(int64(v))
	}
	return h
}

// thePlaces are those of the default plan.
var thePlaces = []fixturePlace{
	{engine: "host", place: "dir", speed: 1, noise: 0.01},
	{engine: "host", place: "dir", speed: 1, noise: 0.01, control: true},
	{engine: "oci", place: "layer", speed: 0.84, noise: 0.012},
	{engine: "oci", place: "bind", speed: 0.998, noise: 0.008},
	{engine: "oci", place: "tmpfs", speed: 6.3, noise: 0.02},
	{engine: "docker", place: "layer", speed: 0.47, noise: 0.015},
	{engine: "docker", place: "bind", speed: 0.985, noise: 0.05},
	{engine: "docker", place: "volume", speed: 0.992, noise: 0.011},
}

// everyday is a finished run in which a reader meets everything that a report
// can show: doubts, notes, failed trials and cells, skipped cells, a thin tail.
func everyday() (record.Run, []record.Trial) {
	f := newFixture()
	f.fill(thePlaces, len(specs))
	for i := range f.trials {
		f.spoil(&f.trials[i])
	}
	for _, w := range specs {
		f.run.Skipped = append(f.run.Skipped,
			record.Skip{Cell: record.Cell{Workload: w.spec.Name, Engine: "oci", Place: "volume", Limits: "none", Clients: 1}, Reason: "engine oci has no place volume: runtimes know no volumes; use bind"},
			record.Skip{Cell: record.Cell{Workload: w.spec.Name, Engine: "vm", Place: "dir", Limits: "none", Clients: 1}, Reason: "no /dev/kvm on this machine"})
	}
	f.run.Warnings = []record.Warning{{Check: "virtual", Severity: record.Note, Text: "this is a virtual machine (kvm): what is below its disks can't be seen"}}
	return f.run, f.trials
}

// failBaseline makes all trials of the baseline fail, and none of the control's.
func (f *fixture) failBaseline() {
	for i := range f.trials {
		if tr := &f.trials[i]; tr.Cell.Engine == "host" && !tr.Cell.Control {
			tr.Status, tr.Error, tr.Results = record.Failed, "boom", nil
		}
	}
}

// spoil adds what goes wrong in real runs.
func (f *fixture) spoil(t *record.Trial) {
	c := t.Cell
	warn := func(severity, check, format string, args ...any) {
		t.Warnings = append(t.Warnings, record.Warning{Check: check, Severity: severity, Text: fmt.Sprintf(format, args...)})
	}
	switch {
	case c.Workload == "seqwrite" && c.Place == "layer" && c.Engine == "docker":
		t.Status, t.Value, t.Results = record.Failed, 0, nil
		t.Error, t.Phase, t.Progress = "write: no space left on device", "layout", "412 MiB of 1 GiB laid out"
		t.Log = "worker: layout\n\x1b[31mworker: write /data/job.0: no space left on device\x1b[0m\n<script>alert(1)</script>\n"
	case c.Workload == "wal" && c.Engine == "docker" && c.Place == "volume" && t.Block == 3:
		t.Status, t.Value, t.Results = record.Failed, 0, nil
		t.Error, t.Phase = "the container was killed: out of memory (memory limit 64 MiB)", "run"
	case c.Place == "tmpfs":
		warn(record.Note, "direct", "O_DIRECT is accepted on tmpfs and has no effect: the data is in memory")
	case c.Workload == "append":
		t.Truth[0].DeviceWritten = t.Truth[0].AppWritten / 300
		warn(record.Note, "cache", "%.1f %% of the bytes reached the device in the window: the rest is in the page cache", 0.3+0.1*float64(t.Block))
	case c.Workload == "randread-deep" && c.Engine == "docker" && c.Place == "volume":
		t.Truth[0].DeviceRead = 0
		warn(record.Doubt, "cache", "0 %% of the bytes that were read came from the device: this is the speed of the page cache")
	case c.Workload == "wal" && c.Engine == "oci" && c.Place == "layer" && t.Block < 5:
		warn(record.Note, "busy", "another process used the disk: %d I/Os per second before the window", 40+t.Block)
	}
	if c.Workload == "wal" && t.Status == record.Done {
		h := &hist.Histogram{}
		for range 400 {
			h.Record(int64(5e5 * math.Exp(f.rng.NormFloat64()*0.3)))
		}
		t.Results[0].Classes[0].Lat = h
	}
}
