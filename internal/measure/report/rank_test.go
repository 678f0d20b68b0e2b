package report

import (
	"strings"
	"testing"
)

// TestOrderNeedsEvidence: places are put in an order only where intervals tell some of them apart.
func TestOrderNeedsEvidence(t *testing.T) {
	base := fixturePlace{engine: "host", place: "dir", speed: 1, noise: 0.01}
	at := func(place string, speed, noise float64) fixturePlace {
		return fixturePlace{engine: "oci", place: place, speed: speed, noise: noise}
	}
	for _, tt := range []struct {
		name   string
		blocks int
		places []fixturePlace
		order  Order
		first  string // of oci
		text   string
	}{
		{"one figure after another is open", 6, []fixturePlace{base, at("layer", 0.8, 0.5), at("bind", 1, 0.5)}, NoOrder, "layer", "in no order: the figures don't prove a difference between places of an engine."},
		{"too few blocks", 3, []fixturePlace{base, at("layer", 0.5, 0.001), at("bind", 1, 0.001)}, NoOrder, "layer", "in no order: the figures don't prove a difference between places of an engine."},
		{"all apart", 8, []fixturePlace{base, at("layer", 0.5, 0.01), at("bind", 1, 0.01)}, FullOrder, "bind", "the cheapest place first."},
		{"some apart", 8, []fixturePlace{base, at("layer", 0.5, 0.01), at("bind", 1, 0.01), at("volume", 1, 0.01)}, PartOrder, "", "the cheapest place first where intervals don't overlap."},
		{"memory is no evidence", 8, []fixturePlace{base, at("layer", 1, 0.01), at("tmpfs", 9, 0.01)}, NoOrder, "layer", "over 1 workload."},
	} {
		f := newFixture()
		f.run.Blocks = tt.blocks
		f.fill(tt.places, 1)
		r := built(f.run, f.trials)
		if r.Order != tt.order || !strings.HasSuffix(r.comparedText(), tt.text) {
			t.Errorf("%s: order %s, %q, want %s and %q", tt.name, r.Order, r.comparedText(), tt.order, tt.text)
		}
		if tt.first != "" && r.Answers[1].Place != tt.first {
			t.Errorf("%s: the first is %s, want %s", tt.name, r.Answers[1].Place, tt.first)
		}
	}
}
