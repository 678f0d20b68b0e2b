package share

import (
	"math/rand/v2"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
	"plimsoll/plans"
)

const version = "0.1.0"

// recorded makes the records of a run of a plan, changed by options. Docker's cells are skipped.
func recorded(t *testing.T, name string, text []byte, o plan.Options) (record.Run, []record.Trial) {
	t.Helper()
	p, err := plan.ParseWith(name, text, o)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 15, 30, 0, 0, time.FixedZone("CET", 3600))
	r := record.Run{
		ID: "20261121-143000-3f9a", Plan: p.Name, PlanText: string(p.Marshal()), Version: version, Seed: 42, Blocks: p.Blocks, Margin: p.Margin,
		Quick: p.Blocks < plan.DefaultBlocks, Started: at, Ended: at.Add(time.Hour), Status: record.Done, Command: "plimsoll run " + name,
		Machine:  record.Machine{Hostname: "quay", OS: "linux", Kernel: "6.1.0-30-amd64", Arch: "amd64", CPUModel: "Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", CPUs: 2, Memory: 8 << 30, Virtual: "KVM", Cgroup: "v2", Clock: "tsc"},
		Ceiling:  record.Ceiling{IOPS: 5e6, CPUs: 2},
		Baseline: map[string]string{},
		IOEngine: map[string]record.EngineChoice{"randread-deep": {Engine: "io_uring", Why: "the strongest that works in all cells"}},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var trials []record.Trial
	for b := range p.Blocks {
		for _, c := range p.Cells() {
			if base, ok := p.BaselineFor(c); ok {
				r.Baseline[c.Workload] = p.Key(base)
			}
			switch {
			case c.Engine == "docker" && b == 0:
				r.Skipped = append(r.Skipped, record.Skip{Cell: c, Reason: "no daemon answers at /run/docker.sock"})
				continue
			case c.Engine == "docker":
				continue
			}
			w, _ := p.Workload(c.Workload)
			at = at.Add(time.Second)
			trials = append(trials, measured(r.ID, w, c, p.Key(c), b, len(trials), at, rng))
		}
	}
	return r, trials
}

// measured makes a trial whose figures fit together. A layer is slower than other places.
func measured(run string, w workload.Spec, c record.Cell, key string, block, order int, at time.Time, rng *rand.Rand) record.Trial {
	ops := int64(1000 * (1 + 0.02*rng.NormFloat64()))
	if c.Place == "layer" {
		ops /= 2
	}
	lat := new(hist.Histogram)
	for i := range ops + 1 { // One was in flight at the end.
		lat.Record(80_000 + i*37%20_000)
	}
	name := map[workload.Kind]string{workload.WAL: "commit", workload.Tree: "file", workload.Append: "append"}[w.Kind]
	if name == "" {
		name = "read"
	}
	res := workload.Result{
		IOEngine: "io_uring", Elapsed: 100 * time.Millisecond, WallElapsed: 100 * time.Millisecond, Start: at,
		Classes: []load.Class{{Name: name, Ops: ops, Bytes: ops * 4096, InFlight: 1, Lat: lat}},
		Samples: []load.Sample{{At: 50 * time.Millisecond, Ops: ops / 2, Bytes: ops / 2 * 4096}, {At: 100 * time.Millisecond, Ops: ops - ops/2, Bytes: (ops - ops/2) * 4096}},
		Usage:   load.Usage{User: time.Millisecond, System: 2 * time.Millisecond, MaxRSS: 8 << 20},
		Disks:   []workload.DiskDelta{{Number: device.Number{Major: 254}, Name: "vda", ReadBytes: ops * 4096}, {Number: device.Number{Major: 253}, Name: "vg_quay-home"}},
	}
	t := record.Trial{
		Run: run, Cell: c, Key: key, Block: block, Order: order, Started: at, Wall: time.Second, Overhead: 80 * time.Millisecond, Status: record.Done,
		Spec: w, Metric: w.Metric(),
	}
	for range c.Clients {
		t.Results = append(t.Results, res)
		t.Truth = append(t.Truth, record.Truth{AppRead: ops * 4096, CgroupRead: -1, CgroupWritten: -1, Device: "vda", DeviceRead: ops * 4096})
		t.Where = append(t.Where, record.Where{
			FSType: "ext4", Path: "/home/alice/data", Options: "rw,noatime,resuid=65534", Source: "/dev/vda1", Kernel: "6.1.0-30-amd64",
			Device: &record.Device{Name: "vda", Number: device.Number{Major: 254}, Model: "Samsung SSD 970 EVO Plus 1TB", Size: 1 << 40, Scheduler: "none", Identity: "serial S4EVNX0R123456", Stack: []string{"vda"}},
		})
	}
	t.Value = workload.Together(t.Results, t.Metric)
	if block == 1 {
		t.Warnings = []record.Warning{{Check: "neighbour", Severity: record.Doubt, Text: "Others on quay used the disk.", Evidence: []byte(`{"group":"/system.slice/alice"}`)}}
	}
	return t
}

// builtIn is a run of a built-in plan.
func builtIn(t *testing.T, name string, o plan.Options) (record.Run, []record.Trial) {
	t.Helper()
	text, err := plans.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return recorded(t, name, text, o)
}
