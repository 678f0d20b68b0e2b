package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
)

// text renders one report for a terminal of a width.
func text(t *testing.T, r *Report, term Terminal) string {
	t.Helper()
	return render(t, "text", term, NewSet(r))
}

// quick is a run of too few blocks, in which one doubt and one note are nearly everywhere.
func quick() (record.Run, []record.Trial) {
	f := newFixture()
	f.run.Blocks, f.run.Quick = 3, true
	f.fill(thePlaces, len(specs))
	for i := range f.trials {
		share := float64(50+(i+20)%40) / 100
		f.trials[i].Warnings = []record.Warning{
			{Check: "neighbour", Severity: record.Doubt, Text: fmt.Sprintf("All CPUs were busy, %.0f %% of them with work other than the worker's.", 100*share), Evidence: json.RawMessage(fmt.Sprintf(`{"others":%g}`, share))},
			{Check: "window", Severity: record.Note, Text: fmt.Sprintf("A p99 would rest on only the slowest %d of %d operations.", 1+i%3, 100+i), Evidence: json.RawMessage(fmt.Sprintf(`{"ops":%d}`, 100+i))},
		}
	}
	return f.run, f.trials
}

// TestQuickRunIsShort: the answer, the overview, each doubt once with its worst case, and no
// table whose intervals would mean nothing.
func TestQuickRunIsShort(t *testing.T) {
	r := built(quick())
	out := text(t, r, Terminal{Width: 100, More: [][2]string{{"Page:", "x/report.html"}}})
	if n := strings.Count(out, "\n"); n > 60 {
		t.Errorf("a quick run has %d lines, want them on one or two screens:\n%s", n, out)
	}
	if n := strings.Count(out, "All CPUs were busy"); n != 1 {
		t.Errorf("one kind of doubt is told %d times:\n%s", n, out)
	}
	golden.Check(t, "quick-100.txt", out)
	golden.Check(t, "quick.md", render(t, "md", Terminal{}, NewSet(r)))
	full := text(t, r, Terminal{Width: 100, Full: true})
	if n := strings.Count(full, "All CPUs were busy"); n != len(specs)+1 {
		t.Errorf("a full text has the doubt %d times, want it with each of %d tables and in the list", n, len(specs))
	}
}

// TestDoubtsAreCountedOnce: the count below the overview is that of its marks, the baseline's
// among them, at any width and in all formats.
func TestDoubtsAreCountedOnce(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces, 2)
	for i := range f.trials {
		if c := f.trials[i].Cell; c.Workload == "seqwrite" && c.Engine == "host" || c.Workload == "randread-deep" && c.Place == "volume" {
			f.trials[i].Warnings = []record.Warning{{Check: "cache", Severity: record.Doubt, Text: "this is memory"}}
		}
	}
	r := built(f.run, f.trials)
	// Every figure of seqwrite rests on its baseline: 7 places; and one volume.
	if want := 8; r.InDoubt != want {
		t.Errorf("InDoubt = %d, want %d", r.InDoubt, want)
	}
	for _, width := range []int{80, 120} {
		out := text(t, r, Terminal{Width: width})
		_, over, _ := strings.Cut(out, "━━ at a glance")
		over, rest, _ := strings.Cut(over[strings.Index(over, "\n\n"):], "\n!")
		if n := strings.Count(over, "!"); n != r.InDoubt {
			t.Errorf("width %d: %d marks in the overview, want %d:\n%s", width, n, r.InDoubt, over)
		}
		if want := fmt.Sprintf("%d of 14 figures are in doubt", r.InDoubt); !strings.Contains(rest, want) {
			t.Errorf("width %d: the text lacks %q:\n%s", width, want, rest)
		}
		if !strings.Contains(over, "1.00 !") {
			t.Errorf("the baseline's doubt isn't marked:\n%s", over)
		}
	}
	for _, format := range []string{"md", "html"} {
		if out := render(t, format, Terminal{}, NewSet(r)); !strings.Contains(out, "8 of 14 figures are in doubt") {
			t.Errorf("%s has another count", format)
		}
	}
}

// TestNarrowTablesKeepTheEvidence: at 80 columns a verdict still has its ratio, its interval and the
// paired test beside it, and there is the p99. All tables of a report have the same columns, also where the everyday things happen.
func TestNarrowTablesKeepTheEvidence(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces, len(specs))
	for _, r := range []*Report{built(f.run, f.trials), built(everyday())} {
		narrowTables(t, r)
	}
}

func narrowTables(t *testing.T, r *Report) {
	t.Helper()
	for _, width := range []int{80, 100, 120, 160} {
		out := text(t, r, Terminal{Width: width})
		heads := 0
		var has []bool
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, "   where") {
				continue
			}
			heads++
			last := -1
			_, columns, _ := strings.Cut(line, "  ratio") // The median may have an interval before it.
			for _, h := range []string{"interval", " p  ", "verdict", "p99"} {
				at := strings.Index(columns, h)
				if at <= last {
					t.Errorf("width %d: %q is not in its place in %q", width, h, line)
				}
				last = at
			}
			var now []bool
			for _, h := range []string{" p50", "CPU/op", "to disk"} {
				now = append(now, strings.Contains(line, h))
			}
			if heads > 1 && !slices.Equal(now, has) {
				t.Errorf("width %d: a table has other columns than the one before: %q", width, line)
			}
			has = now
		}
		if heads != len(specs) {
			t.Errorf("width %d: %d tables, want %d", width, heads, len(specs))
		}
	}
}

// TestInterruptedIsShort: after Ctrl-C the report has only the figures measured so far.
func TestInterruptedIsShort(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces, 2)
	f.run.Status = record.Interrupted
	r := built(f.run, f.trials[:len(f.trials)-5])
	out := text(t, r, Terminal{Width: 100, Interrupted: true, More: [][2]string{{"Page:", "x"}}})
	if n := strings.Count(out, "\n"); n > 23 {
		t.Errorf("%d lines, want few:\n%s", n, out)
	}
	golden.Check(t, "interrupted-100.txt", out)
}

// TestFailedBaseline: without ratios every part says why.
func TestFailedBaseline(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces, 1)
	f.failBaseline()
	r := built(f.run, f.trials)
	golden.Check(t, "failed-baseline.txt", text(t, r, Terminal{Width: 100}))
	golden.Check(t, "failed-baseline.md", render(t, "md", Terminal{}, NewSet(r)))
	page := render(t, "html", Terminal{}, NewSet(r))
	if !strings.Contains(page, "no ratios: the baseline, host dir, failed") {
		t.Error("the page doesn't say why there are no ratios")
	}
	texttest.Lacks(t, page, []string{"ratio to ;", "atio to ;", "rates to :", "Compared with  "})
}

// TestQuestionIsThePlans: a report is headed by what its own plan asks.
func TestQuestionIsThePlans(t *testing.T) {
	for _, row := range []struct{ plan, text, want string }{
		{"places", "name: places\n", Question},
		{"", "", Question},
		{"logs", "name: logs\ndescription: |\n  What does a log cost\n  on each disk?\n", "What does a log cost on each disk?"},
		{"logs", "name: logs\n", "What was found with the plan logs"},
		{"odd", "\tno YAML: [", "What was found with the plan odd"},
	} {
		run, trials := everyday()
		run.Plan, run.PlanText = row.plan, row.text
		r := built(run, trials)
		if r.Question != row.want {
			t.Errorf("Question of plan %q = %q, want %q", row.plan, r.Question, row.want)
		}
		for _, format := range []string{"text", "md", "html", "json"} {
			if out := render(t, format, Terminal{}, NewSet(r)); !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(out, "&#39;", "'"), "\\u0027", "'"), row.want) {
				t.Errorf("%s isn't headed %q", format, row.want)
			}
		}
	}
}

// TestTooWideToSay: an interval over more than a factor of ten has no ends to print, but a find has.
func TestTooWideToSay(t *testing.T) {
	for _, row := range []struct {
		kind      Kind
		low, high Num
		want      string
	}{
		{Inconclusive, 0.0235, 60.8, "too wide to say"}, {Control, 0.1, 1.2, "too wide to say"},
		{Inconclusive, 0.5, 4.9, "0.500 - 4.90"}, {Faster, 1.3, 14, "1.3 - 14.0"}, {Faster, 3.597, 32.46, "3.5 - 32.5"}, {Slower, 0.0123, 0.4, "0.0123 - 0.400"}, {Inconclusive, Unknown, Unknown, "n/a"},
	} {
		c := Cell{Kind: row.kind, Compared: &Compared{Ratio: 1, Low: row.low, High: row.high}}
		if got := c.intervalText(" - "); got != row.want {
			t.Errorf("intervalText of %s %v to %v = %q, want %q", row.kind, row.low, row.high, got, row.want)
		}
	}
}

// TestControlIntervalIsTheFloors: the noise floor is the further end of the control's interval.
func TestControlIntervalIsTheFloors(t *testing.T) {
	r := built(everyday())
	for _, w := range r.Workloads {
		c := find(t, r, w.Name, "host dir (A/A control)").Compared
		if reach := max(float64(c.High), 1/float64(c.Low)) - 1; math.Abs(reach-float64(w.Noise.Floor)) > 1e-9 {
			t.Errorf("%s: the floor is %v, the control's interval reaches %v", w.Name, w.Noise.Floor, reach)
		}
	}
}

// TestTookLeavesOutPauses: a resumed run took as long as it was measured.
func TestTookLeavesOutPauses(t *testing.T) {
	run := record.Run{Started: start, Ended: start.Add(25 * time.Hour), Sessions: []record.Session{
		{Started: start, Ended: start.Add(30 * time.Second)}, {Started: start.Add(24 * time.Hour), Ended: start.Add(24*time.Hour + 50*time.Second)},
	}}
	if got, want := whenText(run), "took 1 min 20 s"; !strings.HasSuffix(got, want) {
		t.Errorf("whenText = %q, want %q at its end", got, want)
	}
}

// TestLastingFolder: a report names the folder above a container's own folder, which is gone when the report is read.
func TestLastingFolder(t *testing.T) {
	id := strings.Repeat("0a", 32)
	for path, want := range map[string]string{
		"/var/lib/docker/overlay2/" + id + "/diff":                       "/var/lib/docker/overlay2",
		"/var/lib/plimsoll/oci/plimsoll-4f06-1/upper":                    "/var/lib/plimsoll/oci",
		"/var/lib/containerd/x.overlayfs/snapshots/123/fs/plimsoll-data": "/var/lib/containerd/x.overlayfs/snapshots",
		"/srv/data": "/srv/data", "/srv/2026/abc": "/srv/2026/abc", "/plimsoll-x": "/plimsoll-x", "": "",
	} {
		if got := lasting(path); got != want {
			t.Errorf("lasting(%q) = %q, want %q", path, got, want)
		}
	}
	if got, want := standsOn(record.Where{FSType: "ext4", Path: "/var/lib/docker/overlay2/" + id + "/diff"}), "data on ext4 in /var/lib/docker/overlay2"; got != want {
		t.Errorf("standsOn = %q, want %q", got, want)
	}
}

// TestVolumeIsNamedAsOne: the folder of a daemon's volume is not for people.
func TestVolumeIsNamedAsOne(t *testing.T) {
	w := record.Where{FSType: "ext4", Path: "/var/lib/docker/volumes/plimsoll-x/_data", Daemon: "Docker 20.10"}
	if got, want := standsOn(w), "data on ext4 in a volume of the daemon"; got != want {
		t.Errorf("standsOn = %q, want %q", got, want)
	}
	w.Path = "/srv/volumes/x"
	if got, want := standsOn(w), "data on ext4 in /srv/volumes/x"; got != want {
		t.Errorf("standsOn = %q, want %q", got, want)
	}
}

// TestOneIsSingular: counts of one have no plural, anywhere.
func TestOneIsSingular(t *testing.T) {
	f := newFixture()
	f.run.Blocks = 6
	f.fill(thePlaces[:1], 1)
	f.run.Blocks, f.run.Status = 1, record.Interrupted
	f.trials = f.trials[:1]
	out := text(t, built(f.run, f.trials), Terminal{Full: true})
	for _, bad := range []string{"1 blocks", "1 trials", "1 cells", "1 workloads", "1 figures"} {
		if strings.Contains(out, " "+bad) {
			t.Errorf("the text says %q:\n%s", bad, out)
		}
	}
	f.run.Blocks = 4
	if got, want := blocksText(built(f.run, f.trials), gather(f.run, f.trials)), "1 block (4 were asked for)"; got != want {
		t.Errorf("blocksText = %q, want %q", got, want)
	}
}

// TestOutliersAreMarked: a trial far off is marked in all formats and stays in the figures.
func TestOutliersAreMarked(t *testing.T) {
	run, trials := everyday()
	for i := range trials {
		if tr := &trials[i]; tr.Cell.Workload == "append" && tr.Cell.Engine == "oci" && tr.Cell.Place == "bind" && tr.Block == 2 {
			tr.Value /= 3
		}
	}
	r := built(run, trials)
	c := find(t, r, "append", "oci bind")
	if !slices.Equal(c.Outliers, []int{2}) || c.N != 6 {
		t.Fatalf("Outliers = %v of %d trials, want block 2 of 6", c.Outliers, c.N)
	}
	marked := 0
	for _, tr := range r.Trials {
		if tr.Outlier {
			marked++
			if tr.Cell != c.Index || tr.Block != 2 {
				t.Errorf("trial of cell %d in block %d is marked", tr.Cell, tr.Block)
			}
		}
	}
	if marked != 1 {
		t.Errorf("%d trials are marked, want 1", marked)
	}
	if want, got := "oci bind: a trial lies far off the others, in block 3", c.outlierText(); !strings.Contains(got, want) {
		t.Errorf("outlierText = %q, want %q", got, want)
	}
	if page := render(t, "html", Terminal{}, NewSet(r)); strings.Count(page, `class="dots odd"`) != 1 || !strings.Contains(page, "in block 3") {
		t.Error("the page doesn't mark the outlier")
	}
	for _, format := range []string{"md", "text"} {
		if out := render(t, format, Terminal{Full: true}, NewSet(r)); !strings.Contains(out, "far off the others") {
			t.Errorf("%s doesn't name the outlier", format)
		}
	}
}

// TestTailHasAnInterval: the p99 of every cell lies within its interval, which is a range with few blocks.
func TestTailHasAnInterval(t *testing.T) {
	r := built(everyday())
	l := find(t, r, "randread-deep", "oci layer").of("read")
	if !(l.P99Low <= l.P99 && l.P99 <= l.P99High && l.P99Low < l.P99High) {
		t.Errorf("p99 %v in %v to %v", l.P99, l.P99Low, l.P99High)
	}
	if l.P99Range {
		t.Errorf("p99 in %v to %v is a range, want an interval", l.P99Low, l.P99High)
	}
	if l := built(quick()).Workloads[0].Cells[0].Latency[0]; !l.P99Range || !l.P99Low.Known() {
		t.Errorf("p99 of three blocks: %v to %v, range %v, want a range", l.P99Low, l.P99High, l.P99Range)
	}
	thin := find(t, r, "wal", "oci layer").of("commit")
	if thin.P99Low.Known() {
		t.Errorf("400 commits a trial have a p99 from %v", thin.P99Low)
	}
	page := render(t, "html", Terminal{}, NewSet(r))
	if want := l.p99Text(); want == "" || !strings.Contains(page, want) {
		t.Errorf("the page lacks the interval %q of a p99", want)
	}
}

// TestMaskKnowsUnits: the same sentence in another unit is the same.
func TestMaskKnowsUnits(t *testing.T) {
	a, b := mask("5.1 MiB requested, 0 B on the device, p99 of 3 blocks"), mask("300 KiB requested, 8.0 KiB on the device, p99 of 12 blocks")
	if a != b || utf8.RuneCountInString(a) == 0 {
		t.Errorf("mask makes %q and %q of one sentence", a, b)
	}
}
