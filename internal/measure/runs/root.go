package runs

import (
	"slices"

	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
)

// NeedsRoot lists what of a plan only root can measure on Linux: "engine oci", "tmpfs on the host".
func NeedsRoot(p *plan.Plan) []string {
	var lost []string
	for _, c := range p.Cells() {
		e, _ := p.Engine(c.Engine)
		s, _ := p.Place(c.Place)
		from, _ := p.Place(c.Source)
		what := ""
		switch {
		case e.Engine == plan.OCI:
			what = "engine oci"
		case e.Engine == plan.Host && (s.Kind == place.Tmpfs || from.Kind == place.Tmpfs):
			what = "tmpfs on the host"
		}
		if what != "" && !slices.Contains(lost, what) {
			lost = append(lost, what)
		}
	}
	return lost
}
