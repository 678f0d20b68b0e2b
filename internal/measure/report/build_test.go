package report

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/load"
)

// find returns the cell of a workload by its label.
func find(t *testing.T, r *Report, workload, label string) *Cell {
	t.Helper()
	for i := range r.Workloads {
		for j := range r.Workloads[i].Cells {
			if c := &r.Workloads[i].Cells[j]; r.Workloads[i].Name == workload && c.Label == label {
				return c
			}
		}
	}
	t.Fatalf("no cell %q in %q", label, workload)
	return nil
}

func answerOf(t *testing.T, r *Report, engine, place string) Answer {
	t.Helper()
	i := slices.IndexFunc(r.Answers, func(a Answer) bool { return a.Engine == engine && a.Place == place })
	if i < 0 {
		t.Fatalf("no answer for %s %s in %v", engine, place, r.Answers)
	}
	return r.Answers[i]
}

func remarkWith(r *Report, part string) *Remark {
	for i := range r.Remarks {
		if strings.Contains(r.Remarks[i].Text, part) {
			return &r.Remarks[i]
		}
	}
	return nil
}

func TestVerdictsOfEveryday(t *testing.T) {
	r := built(everyday())
	for _, want := range []struct {
		workload, label string
		kind            Kind
	}{
		{"randread-deep", "host dir", Base},
		{"randread-deep", "host dir (A/A control)", Control},
		{"randread-deep", "oci bind", Equivalent},
		{"randread-deep", "oci layer", Slower},
		{"randread-deep", "oci tmpfs", Faster},
		{"randread-deep", "docker bind", Inconclusive},
		{"seqwrite", "docker layer", Failed},
	} {
		if c := find(t, r, want.workload, want.label); c.Kind != want.kind {
			t.Errorf("%s, %s is %q (%s), want %q", want.workload, want.label, c.Kind, c.Verdict, want.kind)
		}
	}
	for _, want := range []struct{ engine, place, text string }{
		{"oci", "bind", "costs nothing: equivalent within 5 % at all 4 workloads"},
		{"oci", "layer", "slower at all 4 workloads, most at "},
		{"oci", "tmpfs", "memory, not storage"},
		{"oci", "volume", "not measured: engine oci has no place volume"},
		{"docker", "layer", "FAILED at seqwrite"},
		{"docker", "volume", "1 figure is in doubt"},
		{"vm", "", "not measured: no /dev/kvm"},
	} {
		if a := answerOf(t, r, want.engine, want.place); !strings.Contains(a.Text, want.text) {
			t.Errorf("answer for %s %s = %q, want it to say %q", want.engine, want.place, a.Text, want.text)
		}
	}
}

// built builds the report of what a fixture returns, with default options.
func built(run record.Run, trials []record.Trial) *Report { return Build(run, trials, Options{}) }

func TestWarningsBecomeFootnotes(t *testing.T) {
	r := built(everyday())
	w := r.Workloads[slices.IndexFunc(r.Workloads, func(w Workload) bool { return w.Name == "append" })]
	// The cache warning has another figure in every block, and is one footnote nonetheless.
	if len(w.Footnotes) != 2 {
		t.Fatalf("append has %d footnotes, want 2: %v", len(w.Footnotes), w.Footnotes)
	}
	if c := find(t, r, "randread-deep", "docker volume"); !c.Doubt || len(c.Marks) != 1 {
		t.Errorf("docker volume: doubt %v, marks %v, want a doubt with one mark", c.Doubt, c.Marks)
	}
	rr := r.Workloads[slices.IndexFunc(r.Workloads, func(w Workload) bool { return w.Name == "randread-deep" })]
	if f := rr.Footnotes[0]; f.Mark != "!1" || f.Severity != record.Doubt {
		t.Errorf("the first footnote is %+v, want the doubt as !1", f)
	}
	wal := r.Workloads[slices.IndexFunc(r.Workloads, func(w Workload) bool { return w.Name == "wal" })]
	if f := wal.Footnotes[0]; f.Where != "oci layer (in 5 of 6 trials)" {
		t.Errorf("Where = %q, want the count of trials", f.Where)
	}
}

func TestPercentilesNeedSamples(t *testing.T) {
	for _, test := range []struct {
		n              int
		p50, p99, p999 bool
	}{{0, false, false, false}, {19, false, false, false}, {20, true, false, false}, {999, true, false, false}, {1000, true, true, false}, {9999, true, true, false}, {10000, true, true, true}} {
		h := &hist.Histogram{}
		for i := range test.n {
			h.Record(int64(1000 + i))
		}
		l := Latency{hist: h}
		l.finish()
		if l.P50.Known() != test.p50 || l.P99.Known() != test.p99 || l.P999.Known() != test.p999 {
			t.Errorf("%d samples: p50 %v, p99 %v, p99.9 %v, want known %v, %v, %v", test.n, l.P50, l.P99, l.P999, test.p50, test.p99, test.p999)
		}
	}
	l := Latency{Ops: 2400, P999: Unknown}
	if got, want := l.percentileText(l.P999), "n/a (only 2,400 I/Os)"; got != want {
		t.Errorf("percentileText = %q, want %q", got, want)
	}
}

// Merging, not averaging: half of the trials at 1 ms and half at 9 ms have a p99 of 9 ms.
func TestPercentilesAreOfMergedHistograms(t *testing.T) {
	f := newFixture()
	f.run.Blocks = 2
	f.fill(thePlaces[:1], 1)
	for i := range f.trials {
		h := &hist.Histogram{}
		for range 2000 {
			h.Record([]int64{1e6, 9e6}[i%2])
		}
		f.trials[i].Results[0].Classes[0].Lat = h
	}
	c := built(f.run, f.trials).Workloads[0].Cells[0]
	if p99 := float64(c.Latency[0].P99); math.Abs(p99/9e6-1) > 0.01 {
		t.Errorf("p99 = %v ns, want 9e6", p99)
	}
	if c.Latency[0].Ops != 4000 {
		t.Errorf("Ops = %d, want those of both trials, 4000", c.Latency[0].Ops)
	}
}

func TestRunsThatProveLittle(t *testing.T) {
	f := newFixture()
	f.run.Blocks, f.run.Quick = 3, true
	f.fill(thePlaces, 2)
	r := built(f.run, f.trials)
	if m := remarkWith(r, "prove nothing"); m == nil || m.Severity != record.Doubt {
		t.Errorf("a quick run doesn't say that it proves nothing: %v", r.Remarks)
	}
	if a := answerOf(t, r, "oci", "layer"); !strings.Contains(a.Text, "looks slower") {
		t.Errorf("the answer of a quick run is %q, want it to say looks", a.Text)
	}

	f = newFixture()
	f.fill(thePlaces, 2)
	f.run.Status, f.run.Ended = record.Interrupted, time.Time{}
	cut := len(f.trials) - 5
	r = built(f.run, f.trials[:cut])
	if m := remarkWith(r, "5 of 6 blocks complete"); m == nil {
		t.Errorf("an interrupted run doesn't say how much was measured: %v", r.Remarks)
	}
	if c := find(t, r, "randread-deep", "oci layer"); c.Kind == Missing {
		t.Errorf("trials that were never run count as failed: %s", c.Verdict)
	}
}

// Records may hold anything: no panic, and all renderers end well.
func TestHostileRecords(t *testing.T) {
	nan := math.NaN()
	bad := record.Trial{Status: record.Done, Value: nan, Block: -7, Order: -1, Spec: workload.Spec{Kind: "odd"}}
	odd := record.Trial{Status: record.Done, Value: math.Inf(1), Results: []workload.Result{{Classes: []load.Class{{Name: "read", Ops: -5}}, Samples: []load.Sample{{At: -1}, {At: -1}}}}}
	empty := record.Trial{Status: record.Done, Results: []workload.Result{{Classes: []load.Class{{Name: "read", Ops: 1, Lat: &hist.Histogram{}}}}}}
	for name, trials := range map[string][]record.Trial{
		"nothing": nil, "NaN": {bad}, "infinite": {odd}, "empty": {empty}, "all": {bad, odd, empty, {}},
		"zero": {{Cell: record.Cell{Engine: "a"}, Key: "k", Status: record.Done}, {Cell: record.Cell{Engine: "b"}, Key: "l", Status: record.Done}},
	} {
		run := record.Run{Margin: nan, Blocks: -3, Baseline: map[string]string{"": "k"}, Skipped: []record.Skip{{}, {}}, Warnings: []record.Warning{{}}}
		s := NewSet(built(run, trials))
		for _, format := range Formats {
			re, err := New(format, Terminal{Width: -4, Colour: true})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := re.Render(&b, s); err != nil {
				t.Errorf("%s, %s: %v", name, format, err)
			}
			if format == "json" && !json.Valid([]byte(b.String())) {
				t.Errorf("%s: the JSON is none", name)
			}
		}
	}
}

// TestNext: what is open has a way forward, one that is worth its time.
func TestNext(t *testing.T) {
	f := newFixture()
	f.run.Blocks = 3
	f.fill(thePlaces[:4], 1)
	few := built(f.run, f.trials).Next
	if few == nil || few.Blocks < leastBlocks || few.Blocks > max(mostNext, Patience*3) {
		t.Fatalf("after 3 blocks Next = %+v, want 6 to 20 blocks", few)
	}
	if few.Settles == 0 {
		t.Errorf("after 3 blocks Next = %+v, want it to settle a cell", few)
	}
	if few.Busy {
		t.Errorf("after 3 blocks Next = %+v, but the machine was quiet", few)
	}
	if want := fmt.Sprintf("plimsoll run --resume %s --until-settled", f.run.ID); few.Command != want {
		t.Errorf("Command = %q, want %q", few.Command, want)
	}
	f.trials[0].Warnings = []record.Warning{{Check: "neighbour", Severity: record.Doubt, Text: "All CPUs were busy"}}
	r := Build(f.run, f.trials, Options{Flags: " --state /srv/p"})
	if !r.Next.Busy || !strings.HasSuffix(r.Next.Command, " --state /srv/p") {
		t.Errorf("with a neighbour and a state folder Next = %+v", r.Next)
	}
	_, next, _ := strings.Cut(render(t, "text", Terminal{Width: 100}, NewSet(r)), "Next: ")
	golden.Check(t, "next-100.txt", "Next: "+next)
	f.run.Status = record.Interrupted
	r = Build(f.run, f.trials, Options{Flags: " --state /srv/p"})
	if want := "plimsoll run --resume " + f.run.ID + " --state /srv/p measures the rest"; r.Next != nil || !strings.Contains(r.Remarks[0].Text, want) {
		t.Errorf("a run that was broken off has Next = %+v and the remark %q, want none and %q", r.Next, r.Remarks[0].Text, want)
	}
	loud := newFixture()
	loud.fill([]fixturePlace{thePlaces[0], {engine: "oci", place: "bind", speed: 1, noise: 0.6}}, 1)
	n := built(loud.run, loud.trials).Next
	if n == nil || n.Command != "" {
		t.Fatalf("where noise is far above the difference Next = %+v, want no command", n)
	}
	if n.Open != 1 {
		t.Errorf("%d open cells, want 1", n.Open)
	}
	if !strings.Contains(n.why(), "longer trials") {
		t.Errorf("the reason is %q, want longer trials", n.why())
	}
}

// TestRankOverCommonWorkloads: a place is not ahead for what it was not asked to do. docker layer is
// slower everywhere but was not run at wal, where docker bind is slow; a mean over each one's own
// workloads put it first.
func TestRankOverCommonWorkloads(t *testing.T) {
	f := newFixture()
	f.fill([]fixturePlace{
		{engine: "host", place: "dir", speed: 1, noise: 0.01}, {engine: "docker", place: "bind", speed: 1, noise: 0.01},
		{engine: "docker", place: "layer", speed: 0.9, noise: 0.01},
	}, len(specs))
	var trials []record.Trial
	for _, tr := range f.trials {
		if tr.Cell.Workload == "wal" && tr.Cell.Place == "layer" {
			continue
		}
		if tr.Cell.Workload == "wal" && tr.Cell.Engine == "docker" {
			tr.Value *= 0.3
		}
		if tr.Cell.Workload == "append" && tr.Cell.Place == "bind" {
			tr.Warnings = []record.Warning{{Check: "cache", Severity: record.Doubt, Text: "0 % came from the device"}}
		}
		trials = append(trials, tr)
	}
	r := built(f.run, trials)
	if d := cmp.Diff([]string{"randread-deep", "seqwrite"}, r.Ranked); d != "" {
		t.Errorf("Ranked (-want +got):\n%s", d)
	}
	if r.Answers[1].Place != "bind" || math.Abs(float64(r.Answers[1].Overall)-1) > 0.05 {
		t.Errorf("the first of docker is %s with %v, want bind with 1.00: the order is over different workloads", r.Answers[1].Place, r.Answers[1].Overall)
	}
	if text := r.comparedText(); !strings.Contains(text, "by randread-deep and seqwrite, which all places have without doubt") {
		t.Errorf("the caption is %q", text)
	}

	// With every figure in doubt there is no order, and nothing claims one.
	for i := range trials {
		trials[i].Warnings = []record.Warning{{Check: "neighbour", Severity: record.Doubt, Text: "All CPUs were busy"}}
	}
	r = built(f.run, trials)
	for _, a := range r.Answers {
		if a.Overall.Known() {
			t.Errorf("%s %s has the overall figure %v, all of it in doubt", a.Engine, a.Place, a.Overall)
		}
		// Nor is a doubtful verdict given as a plain one.
		if plain := regexp.MustCompile(`(slower|faster) at [^;]*\([^,;]*\)|costs nothing|^equivalent|; equivalent`).FindString(a.Text); plain != "" {
			t.Errorf("%s %s: %q is said without a doubt: %s", a.Engine, a.Place, plain, a.Text)
		}
	}
	golden.Check(t, "no-order-100.txt", text(t, r, Terminal{Width: 100}))
	golden.Check(t, "no-order.md", render(t, "md", Terminal{}, NewSet(r)))
	page := render(t, "html", Terminal{}, NewSet(r))
	if !strings.Contains(page, "in no order") {
		t.Error("the page claims an order")
	}
	if strings.Contains(page, ">overall<") {
		t.Error("the page has an overall column")
	}
}

// TestGlanceHasAbsoluteFigures: a quick run has no tables, and its ratios are of something.
func TestGlanceHasAbsoluteFigures(t *testing.T) {
	f := newFixture()
	f.run.Quick, f.run.Blocks = true, 3
	f.fill(thePlaces[:4], len(specs))
	// Those of text and markdown are in the golden files of TestQuickRunIsShort.
	page := render(t, "html", Terminal{}, NewSet(built(f.run, f.trials)))
	texttest.Has(t, page, []string{"host dir, rate", "host dir, p99", "MiB/s", "k/s", "µs"})
}
