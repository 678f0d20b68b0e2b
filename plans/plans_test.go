package plans_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/plan"
	"plimsoll/plans"
)

func TestGetUnknown(t *testing.T) {
	for _, name := range []string{"", "nosuch", "../plans/places", "places.yaml"} {
		if b, err := plans.Get(name); err == nil || !strings.Contains(err.Error(), "there are: caps, neighbours, places, raw-write, site-build, volume-drivers") {
			t.Errorf("Get(%q) = %d bytes, %v, want an error that names the plans", name, len(b), err)
		}
	}
}

// TestBuiltIn checks that every plan is sound, is called like its file, and says
// itself what quick means.
func TestBuiltIn(t *testing.T) {
	if !slices.Contains(plans.Names(), plans.Default) {
		t.Fatalf("Names() = %v, want the default %s among them", plans.Names(), plans.Default)
	}
	for _, name := range plans.Names() {
		text, err := plans.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Parse(plans.File(name), text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Name != name || p.Description == "" || p.Baseline == nil {
			t.Errorf("%s is called %q, described as %q, with baseline %v", name, p.Name, p.Description, p.Baseline)
		}
		quick, err := plan.ParseWith(plans.File(name), text, plan.Options{Quick: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if quick.Blocks >= p.Blocks || quick.Estimate() >= p.Estimate()/2 {
			t.Errorf("%s, quick: %d blocks, %v instead of %v", name, quick.Blocks, quick.Estimate(), p.Estimate())
		}
	}
}

// TestPlacesSize checks the promises of the default plan: what it crosses, and that it
// is planned to end in under 6 minutes, 90 s if quick.
func TestPlacesSize(t *testing.T) {
	text, err := plans.Get("places")
	if err != nil {
		t.Fatal(err)
	}
	for quick, most := range map[bool]time.Duration{false: 6 * time.Minute, true: 90 * time.Second} {
		p, err := plan.ParseWith("places", text, plan.Options{Quick: quick})
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Estimate(); d > most {
			t.Errorf("quick %v: Estimate = %v, want at most %v", quick, d, most)
		}
		// 9 workloads x (dir, its control and tmpfs; layer, bind, tmpfs; layer, bind, volume, tmpfs).
		if n := len(p.Cells()); n != 99 {
			t.Errorf("quick %v: %d cells, want 99", quick, n)
		}
	}
}
