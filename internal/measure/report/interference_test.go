package report

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/load"
)

// limitedRun makes the records of a run in which one or two clients write at the paces of MiB/s, each under a limit of 10 MiB/s if
// the cell has one.
func limitedRun(blocks int, cells map[string]float64) (record.Run, []record.Trial) {
	run := record.Run{ID: "r", Plan: "neighbours", PlanText: "name: neighbours\n", Blocks: blocks, Status: record.Done, Margin: 0.05, Started: start, Baseline: map[string]string{}}
	var trials []record.Trial
	for b := range blocks {
		for _, name := range slices.Sorted(maps.Keys(cells)) {
			pace := cells[name]
			limits, clients, _ := strings.Cut(name, "/")
			cell := record.Cell{Workload: "direct", Engine: "oci", Place: "disk", Limits: limits, Clients: len(clients)}
			t := record.Trial{Run: "r", Cell: cell, Key: key(cell), Block: b, Order: len(trials), Started: start, Status: record.Done, Metric: workload.Metric{Unit: "B/s"},
				Spec: workload.Spec{Name: "direct", Kind: workload.Block, Job: load.Job{RW: load.Write, BS: 64 << 10, Direct: true}}}
			for i := range cell.Clients {
				// The paces of two clients differ, and their geometric mean is the pace: one is above its limit, by more than the limiter's slices.
				bytes := int64(pace * (1 << 20) * math.Pow(1.01, float64(b%2)) * math.Pow(2, float64(2*i-(cell.Clients-1))/2))
				t.Results = append(t.Results, workload.Result{Elapsed: time.Second, Classes: []load.Class{{Name: "write", Ops: bytes >> 16, Bytes: bytes}}, File: workload.FileState{DirectOpen: true}})
				w := record.Where{FSType: "ext4", Limits: limits}
				if limits != "none" {
					w.Held = &limit.Held{Applied: []limit.Applied{{Key: limit.WriteBPS, Value: 10 << 20, Device: "loop0", Number: device.Number{Major: 7}, By: limit.ByGroup, Group: "/plimsoll-1"}}}
				}
				t.Where = append(t.Where, w)
			}
			t.Value = workload.Together(t.Results, t.Metric)
			trials = append(trials, t)
		}
	}
	return run, trials
}

// TestInterference: the score is what the definition says, and all forms of the report have it.
func TestInterference(t *testing.T) {
	run, trials := limitedRun(8, map[string]float64{"none/1": 800, "none/11": 400, "own/1": 10, "own/11": 10})
	r := Build(run, trials, Options{})
	if len(r.Interference) != 2 {
		t.Fatalf("%+v", r.Interference)
	}
	none, own := r.Interference[0], r.Interference[1]
	if math.Abs(float64(none.Score)-0.5) > 0.001 || none.Verdict != "hindered" {
		t.Errorf("without limits: score %v, %s, want 0.5, hindered", none.Score, none.Verdict)
	}
	if none.Low < 0.4 || none.High > 0.6 {
		t.Errorf("without limits: interval %v to %v, want it within 0.4 to 0.6", none.Low, none.High)
	}
	if none.N != 8 || none.Clients != 2 {
		t.Errorf("without limits: %d blocks with %d clients, want 8 with 2", none.N, none.Clients)
	}
	if math.Abs(float64(own.Score)) > 0.001 || own.Verdict != "unhindered" {
		t.Errorf("with limits: %+v", own)
	}
	golden.Check(t, "interference-120.txt", text(t, r, Terminal{Width: 120}))
	golden.Check(t, "interference.md", render(t, "md", Terminal{}, NewSet(r)))
	for format, want := range map[string][]string{
		"html": {"<h2>interference</h2>", "50 %", "<h2>limits</h2>", `<dd>1 of 2 limits held; 1 NOT held`, `class="l k-faster">held<`},
		"json": {`"interference":`, `"score": 0.5`, `"limits":`, `"write_bps=10MiB on loop0 (7:0) in /plimsoll-1"`},
	} {
		renderer, err := New(format, Terminal{Width: 120})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := renderer.Render(&b, Set{Reports: []*Report{r}}); err != nil {
			t.Fatal(err)
		}
		flat := strings.Join(strings.Fields(b.String()), " ")
		for _, w := range want {
			if !strings.Contains(b.String(), w) && !strings.Contains(flat, w) {
				t.Errorf("%s lacks %q", format, w)
			}
		}
	}
	// Data that the flusher wrote later counts, so the pace is not that of memory.
	tr := trials[0]
	tr.Results = []workload.Result{tr.Results[0]}
	alone, storage := paceOf(&tr, 0)
	if storage {
		t.Error("direct I/O has a pace to the storage")
	}
	tr.Results[0].Settled, tr.Results[0].Flushed = 3*time.Second, &workload.Flushed{}
	if pace, storage := paceOf(&tr, 0); !storage || math.Abs(pace-alone/4) > 1 {
		t.Errorf("paceOf = %g, %v, want a quarter of %g", pace, storage, alone)
	}
	// One block has a score and no interval, and none has no row.
	run, trials = limitedRun(1, map[string]float64{"none/1": 800, "none/11": 400})
	if r := Build(run, trials, Options{}); len(r.Interference) != 1 || r.Interference[0].Low.Known() || !r.Interference[0].Score.Known() {
		t.Errorf("one block: %+v", r.Interference)
	}
	run, trials = limitedRun(3, map[string]float64{"none/11": 400})
	if r := Build(run, trials, Options{}); len(r.Interference) != 0 {
		t.Errorf("nobody alone: %+v", r.Interference)
	}
}

// TestLimitRows: a cell that passes its limit in half of its trials has not held it.
func TestLimitRows(t *testing.T) {
	for pace, want := range map[float64]judge.Verdict{10: judge.Held, 50: judge.NotHeld, 5: judge.Unproved} {
		run, trials := limitedRun(4, map[string]float64{"own/1": pace})
		r := Build(run, trials, Options{})
		if len(r.Limits) != 1 {
			t.Fatalf("%v: %+v", pace, r.Limits)
		}
		text, wantText := r.Summary[0], map[judge.Verdict]string{
			judge.NotHeld:  "0 of 1 limit held; 1 NOT held, worst write_bps of direct at oci disk, own: asked 10 MiB/s, saw 50.2 MiB/s.",
			judge.Unproved: "0 of 1 limit held; 1 unproved.",
		}[want]
		if wantText != "" && text != wantText {
			t.Errorf("%v MiB/s: %q, want %q", pace, text, wantText)
		}
		l := r.Limits[0]
		if l.Verdict != want {
			t.Errorf("%v MiB/s: verdict %s, want %s", pace, l.Verdict, want)
		}
		if l.Trials != 4 || l.Asked != 10<<20 {
			t.Errorf("%v MiB/s: %d trials with a limit of %v, want 4 with 10 MiB/s", pace, l.Trials, l.Asked)
		}
		if math.Abs(float64(l.Error)-(pace/10-1)) > 0.1 {
			t.Errorf("%v MiB/s: error %v, want %v", pace, l.Error, pace/10-1)
		}
		if !strings.Contains(l.Implied, "160 I/Os of 64KiB a second through") {
			t.Errorf("%v MiB/s: implied %q, want 160 I/Os of 64KiB", pace, l.Implied)
		}
	}
}

// TestSheetsFitATerminal: at 80 columns the tables say less, and are not wider; at 120 they say all.
func TestSheetsFitATerminal(t *testing.T) {
	run, trials := limitedRun(8, map[string]float64{"none/1": 800, "none/11": 400, "device/1": 100, "device/11": 100})
	r := Build(run, trials, Options{})
	narrow, wide := text(t, r, Terminal{Width: 80}), text(t, r, Terminal{Width: 120})
	_, sheets, _ := strings.Cut(narrow, "━━ interference")
	for line := range strings.Lines(sheets) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 80 && !strings.HasPrefix(line, "Repeat") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	texttest.Has(t, wide, []string{"score  95 % interval", "beside", "seen at"})
}

// TestHeadlineOfProof: the headline says what rows prove, and nothing of rows that prove nothing.
func TestHeadlineOfProof(t *testing.T) {
	for _, tt := range []struct {
		name   string
		blocks int
		rows   []Interference
		want   string
	}{
		{"nothing proved", 6, []Interference{
			{Score: 0.89, Low: -0.3, High: 0.97, Verdict: unclear, engine: "oci", place: "disk"},
			{Score: 0, Low: -0.3, High: 0.3, Verdict: unclear, engine: "oci", place: "disk"},
		}, "It is not proved how much pace a client loses next to others that do the same: all 2 rows have no proven verdict."},
		{"too few blocks", 3, []Interference{{Score: 0.5, Low: 0.4, High: 0.6, Tentative: true, Verdict: "looks hindered", engine: "oci", place: "disk"}},
			"It is not proved how much pace a client loses next to others that do the same: the one row has no proven verdict."},
		{"some", 6, []Interference{
			{Score: 0.5, Low: 0.412, High: 0.587, Verdict: hindered, engine: "oci", place: "disk", limits: "none"},
			{Score: 0.7, Low: 0.655, High: 0.744, Verdict: hindered, engine: "oci", place: "disk", limits: "none"},
			{Score: 0.9, Low: -0.1, High: 0.99, Verdict: unclear, engine: "oci", place: "disk", limits: "none"},
			{Score: 0.02, Low: -0.01, High: 0.04, Verdict: unhindered, engine: "oci", place: "disk", limits: "own"},
		}, "Next to others that do the same, a client loses this much of its pace: 41 to 75 % without limits, nothing under own; 1 of 4 rows has no proven verdict."},
	} {
		r := &Report{Interference: tt.rows}
		if got := r.interferenceText(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// bufferedRun is a run of limitedRun's cells through the page cache: memory took the bytes in 10 ms, and the device
// wrote them at the paces.
func bufferedRun(blocks int, cells map[string]float64) (record.Run, []record.Trial) {
	run, trials := limitedRun(blocks, cells)
	for i := range trials {
		tr := &trials[i]
		tr.Spec.Job.Direct = false
		all := int64(0)
		for c := range tr.Results {
			all += tr.Results[c].Classes[0].Bytes
		}
		for c := range tr.Results {
			r := &tr.Results[c]
			bytes := r.Classes[0].Bytes
			r.File.DirectOpen = false
			r.Elapsed, r.Settled, r.Flushed = 10*time.Millisecond, 990*time.Millisecond, &workload.Flushed{Bytes: all}
			tr.Where[c].Device = &record.Device{Name: "loop0", Number: device.Number{Major: 7}}
			tr.Truth = append(tr.Truth, record.Truth{AppWritten: bytes, Device: "loop0"})
		}
		tr.Warnings = append(tr.Warnings, record.Warning{Check: "cache", Severity: record.Doubt, Text: "this is the speed of memory", Evidence: []byte(`{"direction":"written"}`)})
		tr.Value = workload.Together(tr.Results, tr.Metric)
	}
	run.Baseline["direct"] = key(record.Cell{Workload: "direct", Engine: "oci", Place: "disk", Limits: "none", Clients: 1})
	return run, trials
}

// TestRowsOfACellAgree: what the comparison, the interference and the limits say of a cell is of one figure. A limit that holds buffered
// writes to a hundredth is not "no difference".
func TestRowsOfACellAgree(t *testing.T) {
	run, trials := bufferedRun(8, map[string]float64{"none/1": 1000, "none/11": 500, "device/1": 10, "device/11": 10})
	before := trials[0].Value
	r := Build(run, trials, Options{})
	if trials[0].Value != before {
		t.Error("Build changed the records")
	}
	if row := r.Limits[0]; row.Label != "oci disk, device" || math.Abs(float64(row.Seen)/(10<<20)-1) > 0.02 {
		t.Fatalf("%+v", row)
	}
	c := find(t, r, "direct", "oci disk, device")
	if c.Compared == nil || c.Compared.Ratio > 0.0101 || c.Compared.Ratio < 0.0099 {
		t.Errorf("the comparison is %+v, want a ratio of 0.01", c.Compared)
	}
	if c.Kind != Slower {
		t.Errorf("the verdict is %s, want slower", c.Verdict)
	}
	if math.Abs(float64(c.Median)/(10<<20)-1) > 0.02 {
		t.Errorf("the median is %v, want 10 MiB/s", c.Median)
	}
	if f := r.Interference[0]; f.Label != "oci disk" || math.Abs(float64(f.PaceAlone)/float64(find(t, r, "direct", "oci disk").Median)-1) > 0.001 {
		t.Errorf("the interference begins at %v, the table has %v", f.PaceAlone, find(t, r, "direct", "oci disk").Median)
	}
	if c.Doubt || c.Disk.Write < 0.99 || !strings.HasSuffix(r.Workloads[0].What, storedText) {
		t.Errorf("doubt %v, to disk %v, %q", c.Doubt, c.Disk.Write, r.Workloads[0].What)
	}
	// Where one trial of the workload wasn't followed to the storage, none counts so.
	trials[3].Results[0].Flushed = nil
	if got := find(t, Build(run, trials, Options{}), "direct", "oci disk, device"); got.Compared.Ratio < 0.009 || math.Abs(float64(got.Median)/(1000<<20)-1) > 0.02 {
		t.Errorf("without one: %v, %v", got.Compared, got.Median)
	}
}
