package export

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

// benchTrial is a trial of one client with 2,000 operations of 4 KiB in half a second, each of 100 µs.
func benchTrial(c record.Cell, m workload.Metric) record.Trial {
	lat := new(hist.Histogram)
	for range 2000 {
		lat.Record(100_000)
	}
	class := load.Class{Name: "read", Ops: 2000, Bytes: 2000 << 12, Lat: lat}
	t := record.Trial{Cell: c, Status: record.Done, Metric: m, Results: []workload.Result{{Elapsed: 500 * time.Millisecond, Classes: []load.Class{class, {Name: "sync", Ops: 9, Bytes: 1 << 30, Lat: lat}}}}}
	t.Value = workload.Together(t.Results, m)
	return t
}

// TestBenchfmt: the reader that benchstat uses reads the lines, and each unit is the one that it means.
func TestBenchfmt(t *testing.T) {
	cell := record.Cell{Workload: "randread-deep", Engine: "oci", Place: "bind-2", Limits: "none", Clients: 1}
	control, copied := cell, cell
	control.Control = true
	copied.Workload, copied.Source, copied.Clients = "tree it", "layer", 2
	iops, bandwidth := workload.Metric{Name: "IOPS", Unit: "1/s"}, workload.Metric{Name: "bandwidth", Unit: "B/s"}
	failed := benchTrial(cell, iops)
	failed.Status = record.Failed
	few := benchTrial(control, iops)
	few.Results[0].Classes[0].Ops, few.Results[0].Classes[0].Lat = 1, new(hist.Histogram)
	few.Value = 2

	var b strings.Builder
	e := newExporter("benchfmt", &b)
	for i, trials := range [][]record.Trial{{benchTrial(cell, iops), failed, few}, {benchTrial(copied, bandwidth)}} {
		run := &record.Run{Plan: "places", Machine: record.Machine{OS: "linux", Arch: "amd64", CPUModel: "Some CPU", Kernel: []string{"6.1.0", "6.12.0"}[i]}}
		if err := e.run(run); err != nil {
			t.Fatal(err)
		}
		for j := range trials {
			if err := e.trial(&trials[j]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.end(); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "benchfmt.txt", b.String())

	type result struct {
		Name, Kernel, Plan, CPU string
		Values                  map[string]float64
	}
	var got []result
	r := benchfmt.NewReader(strings.NewReader(b.String()), "test")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(rec)
		case *benchfmt.Result:
			x := result{string(rec.Name), rec.GetConfig("kernel"), rec.GetConfig("plan"), rec.GetConfig("cpu"), map[string]float64{}}
			for _, v := range rec.Values {
				x.Values[v.Unit] = v.Value
			}
			got = append(got, x)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{"sec/op": 0.00025, "B/s": 16384000, "ops/s": 4000, "p50-sec": 100e-6, "p99-sec": 100e-6}
	want := []result{
		{"Randread-deep/engine=oci/place=bind-2/limits=none/clients=1", "6.1.0", "places", "Some CPU", all},
		{"Randread-deep/engine=oci/place=bind-2/limits=none/control=true/clients=1", "6.1.0", "places", "Some CPU", map[string]float64{"sec/op": 0.5, "B/s": 16384000, "ops/s": 2}},
		{"Tree_it/engine=oci/source=layer/place=bind-2/limits=none/clients=2", "6.12.0", "places", "Some CPU", all},
	}
	close := cmp.Comparer(func(a, b float64) bool { return a == b || max(a, b)/min(a, b) < 1.01 })
	if d := cmp.Diff(want, got, close); d != "" {
		t.Errorf("read by benchfmt (-want +got):\n%s", d)
	}
	for unit, better := range map[string]string{"ops/s": "higher", "B/s": "higher", "sec/op": "lower", "p99-sec": "lower"} {
		if m := r.Units().Get(unit, "better"); m == nil || m.Value != better {
			t.Errorf("of %s %+v is better, want %s", unit, m, better)
		}
	}
}

// TestBenchfmtWriteError: lost data is an error.
func TestBenchfmtWriteError(t *testing.T) {
	if err := newExporter("benchfmt", full{}).run(&record.Run{}); !errors.Is(err, errFull) {
		t.Errorf("run() = %v, want %v", err, errFull)
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
