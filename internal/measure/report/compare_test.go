package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
)

func TestNoBaseline(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces, 1)
	f.failBaseline()
	r := built(f.run, f.trials)
	if w := r.Workloads[0]; !strings.Contains(w.BaselineWhy, "failed") {
		t.Errorf("BaselineWhy = %q, want it to say that the baseline failed", w.BaselineWhy)
	}
	f.run.Baseline = nil
	if w := built(f.run, f.trials).Workloads[0]; !strings.Contains(w.BaselineWhy, "names no baseline") {
		t.Errorf("BaselineWhy = %q, want it to say that there is none", w.BaselineWhy)
	}
}

// Without a baseline the reports give figures instead of ratios; they used to say "no ratio" and no more.
func TestFiguresWithoutBaseline(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces, 1)
	f.run.Baseline = nil
	r := built(f.run, f.trials)
	for _, a := range r.Answers {
		if !strings.Contains(a.Text, " k/s, p99 ") {
			t.Errorf("%s: %q gives no figures", a.label(), a.Text)
		}
		if !strings.Contains(a.Text, "there is no baseline to compare with") {
			t.Errorf("%s: %q doesn't say why", a.label(), a.Text)
		}
	}
	golden.Check(t, "no-baseline-100.txt", text(t, r, Terminal{Width: 100}))
	golden.Check(t, "no-baseline.md", render(t, "md", Terminal{}, NewSet(r)))
	page := render(t, "html", Terminal{}, NewSet(r))
	texttest.Has(t, page, []string{">host dir, rate</th>", ">docker volume, p99</th>"})
	if strings.Contains(page, "no ratio ") {
		t.Errorf("the page says in each row that there is no ratio:\n%s", page)
	}
}

func TestClientsAreScaledAgainstOne(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces[:1], 1)
	var two []record.Trial
	for _, tr := range f.trials {
		tr.Cell.Clients = 2
		tr.Key = key(tr.Cell)
		tr.Value *= 1.54
		tr.Results = append(slices.Clone(tr.Results), tr.Results[0])
		tr.Order += 100
		two = append(two, tr)
	}
	c := find(t, built(f.run, append(f.trials, two...)), "randread-deep", "host dir, 2 clients")
	if !strings.Contains(c.Scaling, "2 clients together reach 1.54 x one client") {
		t.Errorf("Scaling = %q, want 1.54 x", c.Scaling)
	}
	if len(c.PerClient) != 2 {
		t.Errorf("PerClient = %v, want one figure a client", c.PerClient)
	}
}

// TestBaselineOfAsManyClients: what two clients reach together was compared with one client, and
// the report called every place of two clients the cheaper.
func TestBaselineOfAsManyClients(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces[:4], 1)
	all := slices.Clone(f.trials)
	for _, tr := range f.trials {
		if tr.Cell.Control {
			continue
		}
		tr.Cell.Clients = 2
		tr.Key = key(tr.Cell)
		tr.Value *= 1.9
		tr.Order += 100
		all = append(all, tr)
	}
	r := built(f.run, all)
	c := find(t, r, "randread-deep", "oci layer, 2 clients")
	if c.Kind != Slower || c.Compared == nil || math.Abs(float64(c.Compared.Ratio)-0.84) > 0.02 {
		t.Errorf("oci layer, 2 clients is %s (%+v), want slower by a sixth", c.Kind, c.Compared)
	}
	base := find(t, r, "randread-deep", "host dir, 2 clients")
	if base.Kind != Base || !strings.Contains(base.Scaling, "2 clients together reach 1.90 x") {
		t.Errorf("host dir, 2 clients is %s, %q; want a baseline that says how it scales", base.Kind, base.Scaling)
	}
	if text := r.comparedText(); !strings.Contains(text, "with as many clients") {
		t.Errorf("the caption is %q", text)
	}
	// Where nobody measured the baseline with two clients there is nothing to compare with.
	all = slices.DeleteFunc(all, func(tr record.Trial) bool { return tr.Cell.Clients == 2 && tr.Cell.Engine == "host" })
	c = find(t, built(f.run, all), "randread-deep", "oci layer, 2 clients")
	if c.Kind != Missing || c.Compared != nil || c.Verdict != "no baseline with 2 clients" {
		t.Errorf("without a baseline of two clients: %s, %q", c.Kind, c.Verdict)
	}
}
