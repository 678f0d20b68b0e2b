package report

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/testkit/texttest"
)

// TestPageHasEverything: what a reader is promised of the page is on it, cell by cell.
func TestPageHasEverything(t *testing.T) {
	run, trials := everyday()
	for i := range trials {
		w := &trials[i].Where[0]
		w.Path, w.Runtime, w.Storage = "/srv/data", "crun 1.14", "overlay"
	}
	r := built(run, trials)
	page := render(t, "html", Terminal{}, NewSet(r))
	plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " "))
	for i, w := range r.Workloads {
		_, part, ok := strings.Cut(page, fmt.Sprintf(`<section id="r0w%d">`, i))
		part, _, closed := strings.Cut(part, "</section>")
		if !ok || !closed {
			t.Fatalf("%s has no section", w.Name)
		}
		part = html.UnescapeString(part)
		for _, c := range w.Cells {
			if c.N == 0 {
				if !strings.Contains(part, c.Label+"</b> FAILED") {
					t.Errorf("%s, %s failed, and the page doesn't say how", w.Name, c.Label)
				}
				continue
			}
			for _, pic := range []string{"latencies of " + c.Label + ":", c.Label + ": rate inside the trials", c.Label + ": the value of each trial by block"} {
				_, svg, ok := strings.Cut(part, "<title>"+pic)
				svg, _, _ = strings.Cut(svg, "</svg>")
				if !ok || !regexp.MustCompile(` d="M[^"]{8,}"`).MatchString(svg) {
					t.Errorf("%s has no picture %q with a curve", w.Name, pic)
				}
			}
			for _, l := range c.Latency {
				if len(l.Buckets) == 0 {
					t.Errorf("%s, %s: no histogram in the data", w.Name, c.Label)
				}
			}
		}
		for _, f := range w.Footnotes {
			if !strings.Contains(part, f.Text) {
				t.Errorf("%s lacks the warning %q", w.Name, f.Text)
			}
		}
	}
	_, facts, _ := strings.Cut(plain, "What the data stood on")
	facts, _, _ = strings.Cut(facts, "The plan")
	m := run.Machine
	for what, words := range map[string][]string{
		"fingerprint": {m.Hostname, m.Kernel, m.CPUModel, "2 CPUs", "8.0 GiB memory", "virtual (kvm)", "cgroup v2", "clock tsc", "plimsoll " + run.Version, "seed 42"},
		"facts":       {"file system", "ext4 rw,relatime", "/dev/vda1", "vda", "64 GiB", "scheduler none", "write back", "vda1 on vda", "/srv/data", "crun 1.14", "overlay", "v2"},
		"plan":        strings.Split(strings.TrimSpace(run.PlanText), "\n"),
		"command":     {run.Command},
	} {
		for _, w := range words {
			if in := map[bool]string{true: facts, false: plain}[what == "facts"]; !strings.Contains(in, w) {
				t.Errorf("the page's %s lack %q", what, w)
			}
		}
	}
	if m := regexp.MustCompile(`(?i)https?:|//[a-z0-9.]+\.[a-z]{2,}/|@import|url\(|<(script|img|link|iframe)[^>]+(src|href)=`).FindString(page); m != "" {
		t.Errorf("the page loads something: %q", m)
	}
}

// TestPageFitsItsWidth: at 1200 pixels nothing of a table may be cut off, nor at 800. That was looked
// at in a browser; what it rests on is held here: an interval stands below its figure instead of beside it, the
// verdict's word below the ratio, and on a narrow page a sign in its place.
func TestPageFitsItsWidth(t *testing.T) {
	page := render(t, "html", Terminal{}, NewSet(built(everyday())))
	_, figures, ok := strings.Cut(page, `<table class="figures">`)
	figures, _, _ = strings.Cut(figures, "</table>")
	head, body, _ := strings.Cut(figures, "</thead>")
	if n := strings.Count(head, "<th "); !ok || n > 11 {
		t.Errorf("a table of figures has %d columns, want 11 at most", n)
	}
	row, _, _ := strings.Cut(body, "</tr>")
	if n, want := strings.Count(row, "<td")+1, strings.Count(head, "<th "); n != want {
		t.Errorf("a row has %d columns, its head %d", n, want)
	}
	texttest.Has(t, page, []string{`<span class="sg">-</span><span class="w">slower</span>`, `<span class="w">failed</span>`, "max-width: 980px", ".sg + .w { display: none; }"})
	if strings.Contains(page, `<span class="sg"></span>`) {
		t.Error("an empty sign would hide the word behind it")
	}
}

// TestDoubtsBeforeNotes: the number of figures in doubt stands above the notes. It was below them.
func TestDoubtsBeforeNotes(t *testing.T) {
	s := NewSet(built(everyday()))
	for _, format := range []string{"html", "md", "text"} {
		out := render(t, format, Terminal{Width: 160}, s)
		doubt, note := strings.Index(out, "figures is in doubt"), strings.Index(out, "this is a virtual machine (kvm)")
		if doubt < 0 || note < 0 || doubt > note {
			t.Errorf("%s: the doubt is at %d, the first note at %d", format, doubt, note)
		}
	}
}

// TestSingleBlock: one block has no interval and no test, and no columns for them.
func TestSingleBlock(t *testing.T) {
	f := newFixture()
	f.run.Quick, f.run.Blocks = true, 1
	f.fill(thePlaces[:4], 1)
	s := NewSet(built(f.run, f.trials))
	text := render(t, "text", Terminal{Full: true}, s)
	texttest.Lacks(t, text, []string{"n/a - n/a", "n/a-n/a", headInterval, "they show"})
	if strings.Contains(render(t, "html", Terminal{}, s), "n/a – n/a") {
		t.Error("the page of one block has an interval of nothing")
	}
	// As many trials in every cell are no news.
	for _, line := range strings.Split(text, "\n") {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "where" && strings.Contains(line, "  n  ") {
			t.Errorf("a column of ones: %q", line)
		}
	}
}

// TestPageSaysWhy: the page said how many figures are in doubt and not why, a verdict took four lines, and "n/a (only
// 4,301 I/Os)" made its table wider than the page.
func TestPageSaysWhy(t *testing.T) {
	t.Parallel()
	r := built(quick())
	page := render(t, "html", Terminal{}, NewSet(r))
	top, tables, _ := strings.Cut(html.UnescapeString(page), `<table class="over">`)
	for _, c := range r.Concerns {
		if got, want := strings.Contains(top, c.text()), c.Severity == "doubt"; got != want {
			t.Errorf("the top of the page has %q: %v, want %v", c.text(), got, want)
		}
	}
	if bad := regexp.MustCompile(`<td[^>]*>[^<]*(only [0-9,]+ I/Os|more blocks)`).FindString(tables); bad != "" {
		t.Errorf("the cell %q has two facts in one line", bad)
	}

	l := &Latency{Ops: 2400, P50: 1000, P99: 2000, P999: Unknown}
	if got, want := l.percentileViews()[2], (percentileView{"n/a", "only 2,400 I/Os"}); got != want {
		t.Errorf("percentileViews()[2] = %q, want %q", got, want)
	}
	for verdict, want := range map[string][2]string{
		"inconclusive: about 17 more blocks": {"inconclusive", "~17 more blocks · p\u00a00.219"},
		"5.9-6.8 times faster, in memory":    {"5.9-6.8 times faster", "in memory · p\u00a00.219"},
		"slower by 13-19 %":                  {"slower by 13-19 %", "p\u00a00.219"},
	} {
		c := Cell{Verdict: verdict}
		if short, aside := c.verdictView("0.219"); short != want[0] || aside != want[1] {
			t.Errorf("verdictView of %q = %q, %q, want %q", verdict, short, aside, want)
		}
	}
}
