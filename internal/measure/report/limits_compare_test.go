package report

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
)

// cappedRun is a run in which each set of limits has a rate: places of two engines under each, of which those of docker's
// volume are a fifth slower. Where bare is set, the baseline has no cell with limits.
func cappedRun(bare bool) (record.Run, []record.Trial) {
	f := newFixture()
	f.histogram = 1000
	f.run.Plan, f.run.PlanText = "caps", "name: caps\ndescription: Do limits hold a container, and what do they cost it?\nworkloads:\n  randread-deep: {}\n  wal: {}\n"
	order := 0
	for _, limits := range []struct {
		name  string
		speed float64
	}{{"none", 1}, {"iops", 0.02}, {"bandwidth", 0.05}, {"cpu", 0.3}} {
		for _, p := range []fixturePlace{
			{engine: "oci", place: "bind", speed: 1, noise: 0.01}, {engine: "oci", place: "bind", speed: 1, noise: 0.01, control: true},
			{engine: "oci", place: "layer", speed: 1, noise: 0.01}, {engine: "docker", place: "bind", speed: 1, noise: 0.01},
			{engine: "docker", place: "layer", speed: 1, noise: 0.01}, {engine: "docker", place: "volume", speed: 0.8, noise: 0.01},
			{engine: "docker", place: "tmpfs", speed: 1.01, noise: 0.01},
		} {
			base := p.engine == "oci" && p.place == "bind"
			if limits.name != "none" && (p.control || bare && base) {
				continue
			}
			p.speed *= limits.speed
			for _, w := range []int{0, 2} {
				for b := range f.run.Blocks {
					t := f.trial(w, 0, p, b)
					t.Cell.Limits, t.Order = limits.name, order
					t.Key = key(t.Cell)
					if base && !p.control && limits.name == "none" {
						f.run.Baseline[t.Cell.Workload] = t.Key
					}
					f.trials = append(f.trials, t)
					order++
				}
			}
		}
	}
	return f.run, f.trials
}

// TestLimitsAreComparedWithinOneSet: a capped volume was compared with an uncapped bind mount, and was "49 times slower".
func TestLimitsAreComparedWithinOneSet(t *testing.T) {
	r := built(cappedRun(false))
	for _, row := range []struct {
		label, against string
		kind           Kind
		near           float64
	}{
		{"oci bind", "", Base, 1},
		{"docker volume", "oci bind", Slower, 0.8},
		{"docker volume, iops", "oci bind, iops", Slower, 0.8},
		{"docker bind, iops", "oci bind, iops", Equivalent, 1},
		{"docker tmpfs, bandwidth", "oci bind, bandwidth", Equivalent, 1.01},
		// The baseline's own place shows what the limits cost.
		{"oci bind, iops", "oci bind", Slower, 0.02},
		{"oci bind, cpu", "oci bind", Slower, 0.3},
	} {
		c := find(t, r, "wal", row.label)
		against, ratio := "", 1.0
		if c.Compared != nil {
			against, ratio = c.Compared.Against, float64(c.Compared.Ratio)
		}
		if c.Kind != row.kind || against != row.against || ratio < 0.95*row.near || ratio > 1.05*row.near {
			t.Errorf("%s: %s at %.3g of %q, want %s at %.3g of %q", row.label, c.Kind, ratio, against, row.kind, row.near, row.against)
		}
	}
	c := find(t, built(cappedRun(true)), "wal", "docker volume, iops")
	if c.Compared.Against != "oci bind" || !c.costsLimits() {
		t.Errorf("without a baseline under these limits: %+v", c.Compared)
	}
}

// TestLimitsReport: the reports of a plan with four sets of limits, with the baseline under each and without.
func TestLimitsReport(t *testing.T) {
	for name, bare := range map[string]bool{"caps": false, "caps-bare": true} {
		r := built(cappedRun(bare))
		golden.Check(t, name+"-100.txt", text(t, r, Terminal{Width: 100}))
		golden.Check(t, name+"-full-100.txt", text(t, r, Terminal{Width: 100, Full: true}))
		golden.Check(t, name+".md", render(t, "md", Terminal{}, NewSet(r)))
		if page := render(t, "html", Terminal{}, NewSet(r)); !strings.Contains(page, fmt.Sprintf("Ratio of the rates to %s", r.againstText())) {
			t.Errorf("%s: the page doesn't say what the ratios are to", name)
		}
	}
}
