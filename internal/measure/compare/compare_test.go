package compare

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/text/usage"
)

const planText = `name: places
workloads:
  wal: {kind: wal, runtime: %s}
  append: {kind: append, runtime: 100ms}
engines: [host, oci]
places: {dir: {}, layer: {}, bind: {}}
exclude: [{engine: host, place: layer}, {engine: host, place: bind}, {engine: oci, place: dir}]
baseline: {engine: host, place: dir}
blocks: 20
`

// A course makes the rates of a run: by cell, relative to 1000, with a noise of 2 %.
type course map[string]float64

// run makes a run and its report. Each block is slower or faster as a whole, which cancels in ratios.
func run(t *testing.T, id string, seed uint64, runtime string, rates course, change func(*record.Run, []record.Trial)) *report.Report {
	t.Helper()
	r := record.Run{
		ID: id, Plan: "places", PlanText: fmt.Sprintf(planText, runtime), Blocks: 20, Status: record.Done, Version: "0.1.0", Margin: 0.05,
		Started: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), Machine: record.Machine{Hostname: "quay", OS: "linux", Kernel: "6.1.0"},
		Baseline: map[string]string{"wal": "wal/host/dir", "append": "append/host/dir"},
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	var trials []record.Trial
	for b := range 20 {
		hour := 1 + 0.3*rng.Float64()
		for _, w := range []string{"wal", "append"} {
			for _, c := range []record.Cell{{Engine: "host", Place: "dir"}, {Engine: "host", Place: "dir", Control: true}, {Engine: "oci", Place: "layer"}, {Engine: "oci", Place: "bind"}} {
				c.Workload, c.Limits, c.Clients = w, "none", 1
				key := w + "/" + c.Engine + "/" + c.Place
				rate := 1.0
				if v, ok := rates[key]; ok {
					rate = v
				}
				if c.Control {
					key += "#control"
				}
				spec := workload.Spec{Name: w, Kind: workload.Kind(w), Runtime: 100 * time.Millisecond}
				trials = append(trials, record.Trial{
					Run: id, Cell: c, Key: key, Block: b, Order: len(trials), Status: record.Done, Spec: spec, Metric: spec.Metric(),
					Value: 1000 * rate * hour * math.Exp(0.02*rng.NormFloat64()),
					Where: []record.Where{{FSType: "ext4", Kernel: "6.1.0", Daemon: ""}},
				})
			}
		}
	}
	if change != nil {
		change(&r, trials)
	}
	return report.Build(r, trials, report.Options{Resamples: 1000})
}

// find is the change of a cell.
func (c *Comparison) find(t *testing.T, key string) Change {
	t.Helper()
	for _, ch := range c.Changes {
		if ch.Key == key {
			return ch
		}
	}
	t.Fatalf("%s is not compared", key)
	return Change{}
}

// TestRuns plants a change in one cell, and a disk that is slower for all of them.
func TestRuns(t *testing.T) {
	before := run(t, "r1", 1, "100ms", course{"wal/oci/layer": 0.8}, nil)
	after := run(t, "r2", 2, "100ms", course{"wal/oci/layer": 0.6, "append/oci/bind": 1}, func(r *record.Run, trials []record.Trial) {
		r.Machine.Kernel = "6.12.0"
		for i := range trials {
			trials[i].Value *= 0.5
			if trials[i].Cell.Place == "bind" {
				trials[i].Where[0].Options = "noatime"
			}
		}
	})
	c, err := Runs(before, after)
	if err != nil {
		t.Fatal(err)
	}
	planted := c.find(t, "wal/oci/layer")
	if planted.Kind != report.Slower || planted.Low > 0.75 || planted.High < 0.75 {
		t.Errorf("the planted change: %+v, want slower with 0.75 in the interval", planted)
	}
	if planted.Absolute < 0.3 || planted.Absolute > 0.45 {
		t.Errorf("absolute %v, want about 0.375", planted.Absolute)
	}
	for _, key := range []string{"wal/oci/bind", "append/oci/layer", "append/oci/bind"} {
		if ch := c.find(t, key); ch.Kind == report.Slower || ch.Kind == report.Faster {
			t.Errorf("%s: %+v: the whole machine is slower, and nothing else", key, ch)
		}
	}
	if ch := c.find(t, "wal/host/dir"); ch.Kind != report.Base || ch.Absolute > 0.6 {
		t.Errorf("the baseline: %+v, want half of the rate and no verdict", ch)
	}
	if want := []string{"kernel: 6.1.0 / 6.12.0", "mount options: none / noatime (oci bind)"}; strings.Join(c.Differences, "; ") != strings.Join(want, "; ") {
		t.Errorf("differences %q, want %q", c.Differences, want)
	}
	for text, want := range map[string]int{"slower>10%": 1, "slower > 30 %": 0, "faster>10%": 0} {
		cond, err := ParseCondition(text)
		if err != nil {
			t.Fatal(err)
		}
		if met := c.Met(cond); len(met) != want {
			t.Errorf("%s is met by %+v, want %d", text, met, want)
		}
	}
	var b strings.Builder
	if err := c.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "changed.txt", b.String())
}

// TestSame: of 40 pairs of runs that differ in nothing, at most a few have a find.
func TestSame(t *testing.T) {
	finds := 0
	for i := range uint64(40) {
		c, err := Runs(run(t, "r1", 2*i, "100ms", nil, nil), run(t, "r2", 2*i+1, "100ms", nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range c.Changes {
			if ch.Kind == report.Slower || ch.Kind == report.Faster {
				finds++
			}
		}
	}
	// 5 % of 40 and three standard errors.
	if finds > 6 {
		t.Errorf("%d finds in 40 comparisons of equal runs", finds)
	}
}

// TestRefused: what can't be compared is refused, with the reason.
func TestRefused(t *testing.T) {
	one := run(t, "r1", 1, "100ms", nil, nil)
	other := run(t, "r3", 3, "100ms", nil, func(r *record.Run, trials []record.Trial) {
		r.Plan = "mine"
		for i := range trials {
			trials[i].Cell.Workload, trials[i].Key = "mine-"+trials[i].Cell.Workload, "mine-"+trials[i].Key
		}
	})
	for want, pair := range map[string][2]*report.Report{
		"run r1 can't be compared with itself":                                                   {one, one},
		"workload wal is not the same in both runs: runtime is 100ms / 200ms; run the same plan": {one, run(t, "r2", 2, "200ms", nil, nil)},
		"no cell in common": {one, other},
	} {
		_, err := Runs(pair[0], pair[1])
		if wrong := new(usage.Error); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("Runs() = %v, want a usage error with %q", err, want)
		}
	}
	for _, text := range []string{"", "slower", "slower>", "slower>10", "slower>-1%", "slower>100%", "slow>10%", "slower>10% "} {
		_, err := ParseCondition(text)
		if text == "slower>10% " {
			if err != nil {
				t.Errorf("ParseCondition(%q) = %v", text, err)
			}
		} else if err == nil {
			t.Errorf("ParseCondition(%q) accepts it", text)
		}
	}
}

// TestFewBlocks: runs of few blocks prove nothing.
func TestFewBlocks(t *testing.T) {
	few := func(id string, seed uint64, rate float64) *report.Report {
		return run(t, id, seed, "100ms", course{"wal/oci/layer": rate}, func(r *record.Run, trials []record.Trial) {
			r.Blocks = 3
			for i := range trials {
				if trials[i].Block >= 3 {
					trials[i].Run = "another"
				}
			}
		})
	}
	c, err := Runs(few("r1", 1, 1), few("r2", 2, 0.5))
	if err != nil {
		t.Fatal(err)
	}
	if ch := c.find(t, "wal/oci/layer"); ch.Kind != report.Inconclusive {
		t.Errorf("%+v, want no verdict from three blocks", ch)
	}
	if met := c.Met(Condition{More: 0.1}); len(met) > 0 {
		t.Errorf("three blocks meet a condition: %+v", met)
	}
}

// TestOtherMachine: rates of two machines are not compared with each other, and their ratios are.
func TestOtherMachine(t *testing.T) {
	c, err := Runs(run(t, "r1", 1, "100ms", nil, nil), run(t, "r2", 2, "100ms", nil, func(r *record.Run, _ []record.Trial) { r.Machine.CPUModel = "Another" }))
	if err != nil {
		t.Fatal(err)
	}
	for _, ch := range c.Changes {
		if ch.Absolute.Known() {
			t.Errorf("%s: the rates are compared: %v", ch.Key, ch.Absolute)
		}
		if ch.Kind != report.Base && !ch.Ratio.Known() {
			t.Errorf("%s: the ratios are not compared", ch.Key)
		}
	}
}

// TestUnnamedMachine: nobody knows whether two machines without names are one, as in files for others.
func TestUnnamedMachine(t *testing.T) {
	nameless := func(r *record.Run, _ []record.Trial) { r.Machine.Hostname = "" }
	for want, pair := range map[string][2]*report.Report{
		"machine: not named / quay":      {run(t, "r1", 1, "100ms", nil, nameless), run(t, "r2", 2, "100ms", nil, nil)},
		"machine: quay / not named":      {run(t, "r1", 1, "100ms", nil, nil), run(t, "r2", 2, "100ms", nil, nameless)},
		"machine: not named / not named": {run(t, "r1", 1, "100ms", nil, nameless), run(t, "r2", 2, "100ms", nil, nameless)},
	} {
		c, err := Runs(pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Differences) != 1 || c.Differences[0] != want {
			t.Errorf("differences %q, want %q", c.Differences, want)
		}
		for _, ch := range c.Changes {
			if ch.Absolute.Known() {
				t.Errorf("%s: the rates are compared: %v", ch.Key, ch.Absolute)
			}
		}
	}
}

// TestHiddenProgram: two programs that were left out may be different ones, which the comparison says.
func TestHiddenProgram(t *testing.T) {
	program := func(argv string) func(*record.Run, []record.Trial) {
		return func(r *record.Run, _ []record.Trial) {
			r.PlanText = strings.Replace(r.PlanText, "{kind: wal, runtime: 100ms}", "{kind: command, argv: ["+argv+"]}", 1)
		}
	}
	for argv, want := range map[string][]string{
		"hidden-1": {"program of wal: not known, because files for others have no command lines"},
		"dd":       nil,
	} {
		c, err := Runs(run(t, "r1", 1, "100ms", nil, program(argv)), run(t, "r2", 2, "100ms", nil, program(argv)))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.Differences, want) {
			t.Errorf("%s: differences %q, want %q", argv, c.Differences, want)
		}
	}
}

// TestWithoutPlan: where a plan can't be read, what the workload is in words decides.
func TestWithoutPlan(t *testing.T) {
	lost := func(r *record.Run, _ []record.Trial) { r.PlanText = "lost" }
	if _, err := Runs(run(t, "r1", 1, "100ms", nil, lost), run(t, "r2", 2, "100ms", nil, lost)); err != nil {
		t.Error(err)
	}
	_, err := Runs(run(t, "r1", 1, "100ms", nil, lost), run(t, "r2", 2, "100ms", nil, func(r *record.Run, trials []record.Trial) {
		r.PlanText = "lost"
		for i := range trials {
			trials[i].Spec.Runtime *= 2
		}
	}))
	if err == nil || !strings.Contains(err.Error(), "is not the same in both runs") {
		t.Errorf("Runs() of different windows = %v", err)
	}
}

// TestLimitedCellOfAnOlderReport: older versions compared a cell with limits with one without, and their JSON does not say
// with what. Their ratio and today's are of different things.
func TestLimitedCellOfAnOlderReport(t *testing.T) {
	limited := func(_ *record.Run, trials []record.Trial) {
		for i := range trials {
			if trials[i].Cell.Engine == "oci" {
				trials[i].Cell.Limits = "capped"
			}
		}
	}
	before, after := run(t, "r1", 1, "100ms", nil, limited), run(t, "r2", 2, "100ms", nil, limited)
	for _, older := range []bool{false, true} {
		for i := range before.Workloads {
			for j := range before.Workloads[i].Cells {
				if x := before.Workloads[i].Cells[j].Compared; older && x != nil {
					x.Against = ""
				}
			}
		}
		c, err := Runs(before, after)
		if err != nil {
			t.Fatal(err)
		}
		if ch := c.find(t, "wal/oci/bind"); (ch.Kind == report.Missing) != older {
			t.Errorf("an older report: %v: %+v", older, ch)
		}
	}
}
