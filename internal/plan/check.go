package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/place"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// Defaults of the worker, which count when two workloads are compared and when
// the time of a run is estimated. See workload.Spec and load.Job.
const (
	defaultBS      = 4096
	defaultAppends = 10_000
	defaultLine    = 64
	defaultCommit  = 2300
	defaultWAL     = time.Second
	defaultFiles   = 360
	defaultSource  = 16 << 10
)

// checkPlan fills in the plan's defaults and looks at the plan as a whole.
func checkPlan(d *decoder, _ string, p *Plan) {
	p.fillDefaults()
	checkSame(d, p)
	for i, m := range p.Include {
		checkMatch(d, p, join("include", strconv.Itoa(i)), m)
	}
	for i, m := range p.Exclude {
		checkMatch(d, p, join("exclude", strconv.Itoa(i)), m)
	}
	if p.Baseline != nil {
		checkBaseline(d, p)
	}
	for _, w := range p.Workloads {
		if t := measured(w); t >= p.Timeout {
			d.fail("workloads."+w.Name, "runs for %s, but a trial is ended after %s: raise timeout", t, p.Timeout)
		}
	}
	if len(d.list) == 0 {
		checkMatrix(d, p)
	}
}

func (p *Plan) fillDefaults() {
	if len(p.Limits) == 0 {
		p.Limits = []engine.Limits{{Name: DefaultLimits}}
	}
	if len(p.Clients) == 0 {
		p.Clients = []int{1}
	}
	if p.Blocks == 0 {
		p.Blocks = DefaultBlocks
	}
	if p.Timeout == 0 {
		p.Timeout = DefaultTimeout
	}
	if p.IOEngine == "" {
		p.IOEngine = Common
	}
	if p.Margin == 0 {
		p.Margin = DefaultMargin
	}
}

// checkSame refuses two names for the same cell. Twins would be told apart in the
// report by their noise.
func checkSame(d *decoder, p *Plan) {
	same(d, "workloads", p.Workloads, func(w workload.Spec) (string, string) { return w.Name, settings(canonical(w)) })
	same(d, "places", p.Places, func(s place.Spec) (string, string) {
		name := s.Name
		s.Name = ""
		if s.Kind == place.Volume && s.Driver == "" {
			s.Driver = "local"
		}
		opts := slices.Sorted(maps.Keys(s.DriverOpts))
		for i, k := range opts {
			opts[i] = strconv.Quote(k) + strconv.Quote(s.DriverOpts[k])
		}
		s.DriverOpts = nil
		return name, settings(s) + strings.Join(opts, ",")
	})
	same(d, "limits", p.Limits, func(l engine.Limits) (string, string) { name := l.Name; l.Name = ""; return name, settings(l) })
	names, specs := map[string]bool{}, map[EngineSpec]string{}
	for i, e := range p.Engines {
		at, bare := join("engines", strconv.Itoa(i)), e
		bare.Name = ""
		switch other, twin := specs[bare]; {
		case names[e.Name]:
			d.fail(at, "the engine %s is given twice", e.Name)
		case twin:
			d.fail(at, "%s and %s are two names for the same engine: their cells would be the same", other, e.Name)
		}
		names[e.Name], specs[bare] = true, e.Name
	}
	clients := map[int]bool{}
	for i, n := range p.Clients {
		if clients[n] {
			d.fail(join("clients", strconv.Itoa(i)), "%d is given twice", n)
		}
		clients[n] = true
	}
}

// same adds a fault for each entry with the settings of an earlier one.
func same[T any](d *decoder, path string, list []T, split func(T) (name, settings string)) {
	first := map[string]string{}
	for _, v := range list {
		name, settings := split(v)
		if other, twin := first[settings]; twin {
			d.fail(join(path, name), "%s and %s are two names for the same thing: their cells would be the same", other, name)
			continue
		}
		first[settings] = name
	}
}

// settings prints all fields of v, for comparing.
func settings[T any](v T) string { return fmt.Sprintf("%#v", v) }

// canonical fills in the defaults of a workload, without its name.
func canonical(w workload.Spec) workload.Spec {
	w.Name = ""
	set := func(v *int64, def int64) {
		if *v == 0 {
			*v = def
		}
	}
	count := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	switch w.Kind {
	case workload.Block:
		set(&w.Job.BS, defaultBS)
		count(&w.Job.IODepth, 1)
		count(&w.Job.NumJobs, 1)
		if w.Job.RW == load.RW || w.Job.RW == load.RandRW {
			mix := 50
			if w.Job.RWMixRead != nil {
				mix = *w.Job.RWMixRead
			}
			// The pointer would differ; Count is free in a block job.
			w.Job.RWMixRead, w.Count = nil, mix
		}
	case workload.Append:
		count(&w.Count, defaultAppends)
		set(&w.BS, defaultLine)
	case workload.WAL:
		set(&w.BS, defaultCommit)
		if w.Runtime == 0 {
			w.Runtime = defaultWAL
		}
	case workload.Tree:
		count(&w.Count, defaultFiles)
		set(&w.BS, defaultSource)
	}
	return w
}

// measured is the time that a trial of w takes by its own settings, 0 if it
// ends by a count.
func measured(w workload.Spec) time.Duration {
	w = canonical(w)
	if w.Kind == workload.Block {
		return w.Job.RampTime + w.Job.Runtime
	}
	return w.Runtime
}

// names lists the names of a coordinate of the matrix.
func (p *Plan) names(coordinate string) []string {
	var out []string
	switch coordinate {
	case "workload":
		for _, w := range p.Workloads {
			out = append(out, w.Name)
		}
	case "engine":
		for _, e := range p.Engines {
			out = append(out, e.Name)
		}
	case "place":
		for _, s := range p.Places {
			out = append(out, s.Name)
		}
	case "limits":
		for _, l := range p.Limits {
			out = append(out, l.Name)
		}
	case "clients":
		for _, n := range p.Clients {
			out = append(out, strconv.Itoa(n))
		}
	}
	return out
}

// unknown says that a name or pattern of a coordinate fits nothing, or "".
func (p *Plan) unknown(coordinate, pattern string) string {
	names := p.names(coordinate)
	if anyGlob([]string{pattern}, "") || slices.ContainsFunc(names, func(n string) bool { return glob(pattern, n) }) {
		return ""
	}
	return fmt.Sprintf("no %s of the plan is called %s%s (there are %s)", coordinate, short(pattern), nearest(pattern, names), strings.Join(names, ", "))
}

func checkMatch(d *decoder, p *Plan, at string, m Match) {
	if m.isZero() {
		d.fail(at, "names nothing, so it would match every cell: give it workload, engine, place, limits or clients")
	}
	for coordinate, list := range map[string][]string{"workload": m.Workload, "engine": m.Engine, "place": m.Place, "limits": m.Limits} {
		for _, name := range list {
			if text := p.unknown(coordinate, name); text != "" {
				d.fail(join(at, coordinate), "%s", text)
			}
		}
	}
	for _, n := range m.Clients {
		if !slices.Contains(p.Clients, n) {
			d.fail(join(at, "clients"), "%s", p.unknown("clients", strconv.Itoa(n)))
		}
	}
}

func checkBaseline(d *decoder, p *Plan) {
	b := p.Baseline
	for coordinate, name := range map[string]string{"engine": b.Engine, "place": b.Place, "limits": b.Limits} {
		if name == "" {
			continue
		}
		if text := p.unknown(coordinate, name); text != "" {
			d.fail(join("baseline", coordinate), "%s", text)
		}
	}
	if b.Clients != 0 && !slices.Contains(p.Clients, b.Clients) {
		d.fail("baseline.clients", "%s", p.unknown("clients", strconv.Itoa(b.Clients)))
	}
}

// checkMatrix looks at the cells: there has to be one, not too many, and the baseline
// among them.
func checkMatrix(d *decoder, p *Plan) {
	if p.product() > maxCells {
		d.fail("", "the matrix has more than %d cells: make it smaller", maxCells)
		return
	}
	if n := p.patterns(); n*p.product() > maxMatching {
		d.fail("", "include and exclude name %d things, too many for a matrix of this size: use patterns like rand*", n)
		return
	}
	found, any := false, false
	for _, w := range p.Workloads {
		cells := p.cellsOf(w.Name)
		_, ok := p.baselineIn(cells)
		found, any = found || ok, any || len(cells) > 0
	}
	switch {
	case !any:
		d.fail("", "the matrix is empty: %s", whyEmpty(p))
	case !found:
		d.fail("baseline", "no cell of the matrix is the baseline: %s has no %s, or include and exclude take it out", p.Baseline.Engine, p.Baseline.Place)
	}
}

// maxMatching bounds the work of include and exclude: things that they name x
// cells.
const maxMatching = 2_000_000

// patterns counts what include and exclude name.
func (p *Plan) patterns() int {
	n := 0
	for _, m := range append(slices.Clip(p.Include), p.Exclude...) {
		n += 1 + len(m.Workload) + len(m.Engine) + len(m.Place) + len(m.Limits) + len(m.Clients)
	}
	return n
}

// whyEmpty says what took all cells out.
func whyEmpty(p *Plan) string {
	for _, e := range p.Engines {
		for _, s := range p.Places {
			if fits(e.Engine, s.Kind) {
				return "include and exclude take out every cell"
			}
		}
	}
	return "none of its engines can have any of its places (host has dir and tmpfs, the others all but dir)"
}
