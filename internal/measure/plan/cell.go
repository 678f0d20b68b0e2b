package plan

import (
	"slices"
	"strconv"

	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
)

// maxCells bounds the matrix before its cells are listed.
const maxCells = 10_000

// product is the number of cells in the whole matrix, or maxCells+1 if it is larger.
func (p *Plan) product() int {
	n := 1
	for _, f := range []int{len(p.Workloads), len(p.Engines), max(len(p.Sources), 1), len(p.Places), len(p.Limits), len(p.Clients)} {
		// Each factor is bounded by the number of nodes in a document, so this can't overflow.
		if n *= f; n > maxCells {
			return maxCells + 1
		}
	}
	return n
}

// Cells lists the cells of the plan: by workload, engine, source, place, limits and number of clients, each in the order of
// the plan. The baseline of a workload is followed by its A/A control, the same cell again.
//
// It leaves out the cells that include and exclude take out, and those that can't exist: the host engine has no layer, bind
// or volume, because nothing is mounted; and a container has no dir, because a folder of the host that it sees is a bind.
// Cells whose engine only lacks something on some machines are in the list: they are skipped with a reason when the plan is
// run.
func (p *Plan) Cells() []record.Cell {
	var out []record.Cell
	for _, w := range p.Workloads {
		cells := p.cellsOf(w.Name)
		base, ok := p.baselineIn(cells)
		for _, c := range cells {
			out = append(out, c)
			if ok && c == base {
				c.Control = true
				out = append(out, c)
			}
		}
	}
	return out
}

// cellsOf lists the cells of one workload, without its control.
func (p *Plan) cellsOf(workload string) []record.Cell {
	var out []record.Cell
	for _, e := range p.Engines {
		for _, from := range p.sourcesOf(workload, e.Engine) {
			for _, s := range p.Places {
				if !fits(e.Engine, s.Kind) {
					continue
				}
				for _, l := range p.Limits {
					for _, n := range p.Clients {
						c := record.Cell{Workload: workload, Engine: e.Name, Source: from, Place: s.Name, Limits: l.Name, Clients: n}
						if p.keeps(c) {
							out = append(out, c)
						}
					}
				}
			}
		}
	}
	return out
}

// sourcesOf lists the places that a workload may read its sources from with a kind of engine. It is a single "" for a
// workload without sources, and in a plan whose sources lie in the place itself.
func (p *Plan) sourcesOf(workload, engine string) []string {
	w, _ := p.Workload(workload)
	if len(p.Sources) == 0 || !w.ReadsSources() {
		return []string{""}
	}
	var out []string
	for _, name := range p.Sources {
		if s, ok := p.Place(name); ok && fits(engine, s.Kind) {
			out = append(out, name)
		}
	}
	return out
}

// fits reports whether a kind of engine can have a kind of place at all.
func fits(engine string, kind place.Kind) bool {
	if engine == Host {
		return kind == place.Dir || kind == place.Tmpfs
	}
	return kind != place.Dir
}

// keeps reports whether include and exclude keep c.
func (p *Plan) keeps(c record.Cell) bool {
	matches := func(m Match) bool { return m.Matches(c) }
	if len(p.Include) > 0 && !slices.ContainsFunc(p.Include, matches) {
		return false
	}
	return !slices.ContainsFunc(p.Exclude, matches)
}

// BaselineFor returns the cell that c is compared with: the plan's baseline for c's workload. For the baseline itself and
// for its control that is the baseline, too. It is false if the matrix has no such cell, as when the baseline was excluded
// for that workload.
func (p *Plan) BaselineFor(c record.Cell) (record.Cell, bool) {
	if _, ok := p.Workload(c.Workload); !ok {
		return record.Cell{}, false
	}
	return p.baselineIn(p.cellsOf(c.Workload))
}

// baselineIn finds the baseline among the cells of one workload.
func (p *Plan) baselineIn(cells []record.Cell) (record.Cell, bool) {
	if len(cells) == 0 {
		return record.Cell{}, false
	}
	if p.Baseline == nil {
		return cells[0], true
	}
	want := record.Cell{Workload: cells[0].Workload, Engine: p.Baseline.Engine, Source: p.sourceOfBaseline(cells[0].Workload), Place: p.Baseline.Place, Limits: p.Baseline.Limits, Clients: p.Baseline.Clients}
	if want.Limits == "" {
		want.Limits = p.Limits[0].Name
	}
	if want.Clients == 0 {
		want.Clients = p.Clients[0]
	}
	if w, _ := p.Workload(want.Workload); want.Source == "" && len(p.Sources) > 0 && w.ReadsSources() {
		e, _ := p.Engine(want.Engine)
		from := p.sourcesOf(want.Workload, e.Engine)
		want.Source = want.Place
		if len(from) > 0 && !slices.Contains(from, want.Place) {
			want.Source = from[0]
		}
	}
	return want, slices.Contains(cells, want)
}

// sourceOfBaseline is the source of the baseline's cell, for a workload with sources.
func (p *Plan) sourceOfBaseline(workload string) string {
	if w, _ := p.Workload(workload); w.ReadsSources() {
		return p.Baseline.Source
	}
	return ""
}

// Key names a cell: "randread-deep/oci/layer", or "tree/oci/bind:layer" if its sources are in bind. "/LIMITS" is added if
// the plan has several sets of limits, "/xN" for N clients if N is not 1, and "#control" for the A/A control. Different
// cells of a plan have different keys.
func (p *Plan) Key(c record.Cell) string {
	key := c.Workload + "/" + c.Engine + "/"
	if c.Source != "" {
		key += c.Source + ":"
	}
	key += c.Place
	if len(p.Limits) > 1 {
		key += "/" + c.Limits
	}
	if c.Clients != 1 {
		key += "/x" + strconv.Itoa(c.Clients)
	}
	if c.Control {
		key += "#control"
	}
	return key
}
