package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// checkPlan fills in the plan's defaults and checks the plan as a whole.
func checkPlan(d *strict.Decoder, _ string, p *Plan) {
	p.fillDefaults()
	checkSame(d, p)
	checkSources(d, p)
	for i, m := range p.Include {
		checkMatch(d, p, strict.Join("include", strconv.Itoa(i)), m)
	}
	for i, m := range p.Exclude {
		checkMatch(d, p, strict.Join("exclude", strconv.Itoa(i)), m)
	}
	if p.Baseline != nil {
		checkBaseline(d, p)
	}
	checkThreads(d, p)
	checkTmpfs(d, p)
	for _, w := range p.Workloads {
		switch t := measured(w); {
		case t < p.Timeout:
		case t >= maxTime:
			d.Fail("workloads."+w.Name, "takes %s or more by its runtime, rate or pauses, but a trial must take less than %s: make it shorter", size.FormatDuration(t), size.FormatDuration(maxTime))
		default:
			d.Fail("workloads."+w.Name, "runs for %s, but a trial is ended after %s: raise timeout in the plan, or with --set timeout=%s", t, p.Timeout, size.FormatDuration(roomy(t)))
		}
	}
	if len(d.Found) == 0 {
		checkMatrix(d, p)
	}
}

func (p *Plan) fillDefaults() {
	if len(p.Limits) == 0 {
		p.Limits = []limit.Limits{{Name: DefaultLimits}}
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

// checkSources refuses sources that are no places, that are given twice, or that no workload reads.
func checkSources(d *strict.Decoder, p *Plan) {
	for i, name := range p.Sources {
		at := strict.Join("sources", strconv.Itoa(i))
		if text := p.unknown("place", name); text != "" {
			d.Fail(at, "%s", text)
		} else if slices.Index(p.Sources, name) < i {
			d.Fail(at, "%s is given twice", name)
		}
	}
	if len(p.Sources) > 0 && !slices.ContainsFunc(p.Workloads, workload.Spec.ReadsSources) {
		d.Fail("sources", "no workload of the plan reads sources: only tree and command do")
	}
}

// checkThreads refuses depths that psync can't have, because it needs a thread for each I/O in flight.
func checkThreads(d *strict.Decoder, p *Plan) {
	if p.IOEngine != load.PSync {
		return
	}
	for _, w := range p.Workloads {
		j := w.Job
		j.IOEngine, j.Filename = p.IOEngine, "file"
		var fault *load.OptionError
		if w.Kind == workload.Block && w.Job.IOEngine == "" && errors.As(j.Validate(), &fault) && fault.Option == "iodepth" {
			d.Fail("workloads."+w.Name, "iodepth %d: %s", j.IODepth, fault.Text)
		}
	}
}

// checkTmpfs refuses a tmpfs that is too small for the files of its cells. Jobs with files of the same size share one file,
// and files stay for the next trial.
func checkTmpfs(d *strict.Decoder, p *Plan) {
	for _, s := range p.Places {
		if s.Kind != place.Tmpfs || s.Size == 0 {
			continue
		}
		var files []string
		total := int64(0)
		for _, w := range p.Workloads {
			file, bytes := w.Room()
			used := slices.ContainsFunc(p.cellsOf(w.Name), func(c record.Cell) bool { return c.Place == s.Name })
			if w.Kind != workload.Block || !used || slices.Contains(files, file) {
				continue
			}
			files = append(files, file)
			total += bytes
		}
		if total > s.Size {
			d.Fail("places."+s.Name+".size", "holds %s, but the files of its workloads take %s: make it larger, or leave it out", size.Format(s.Size), size.Format(total))
		}
	}
}

// measured is the time that a trial of w takes by its own settings, 0 if a count ends it.
func measured(w workload.Spec) time.Duration {
	w = canonical(w)
	if w.Kind == workload.Block {
		window := w.Job.Runtime
		if window == 0 {
			window = scheduled(w.Job)
		}
		return w.Job.RampTime + window
	}
	return w.Runtime
}

// names lists the names along a dimension of the matrix, such as its engines.
func (p *Plan) names(dimension string) []string {
	var out []string
	switch dimension {
	case "workload":
		for _, w := range p.Workloads {
			out = append(out, w.Name)
		}
	case "engine":
		for _, e := range p.Engines {
			out = append(out, e.Name)
		}
	case "source":
		return slices.Clone(p.Sources)
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

// unknown is the fault of a name or pattern that matches nothing, "" if it matches.
func (p *Plan) unknown(dimension, pattern string) string {
	names := p.names(dimension)
	if anyGlob([]string{pattern}, "") || slices.ContainsFunc(names, func(n string) bool { return glob(pattern, n) }) {
		return ""
	}
	return fmt.Sprintf("no %s of the plan is called %s%s (there are %s)", dimension, strict.Short(pattern), strict.DidYouMean(pattern, names), strings.Join(names, ", "))
}

func checkMatch(d *strict.Decoder, p *Plan, at string, m Match) {
	if m.isZero() {
		d.Fail(at, "has no names, so it would match every cell: give it workload, engine, source, place, limits or clients")
	}
	for dimension, list := range map[string][]string{"workload": m.Workload, "engine": m.Engine, "source": m.Source, "place": m.Place, "limits": m.Limits} {
		for _, name := range list {
			if text := p.unknown(dimension, name); text != "" {
				d.Fail(strict.Join(at, dimension), "%s", text)
			}
		}
	}
	for _, n := range m.Clients {
		if !slices.Contains(p.Clients, n) {
			d.Fail(strict.Join(at, "clients"), "%s", p.unknown("clients", strconv.Itoa(n)))
		}
	}
}

func checkBaseline(d *strict.Decoder, p *Plan) {
	b := p.Baseline
	for dimension, name := range map[string]string{"engine": b.Engine, "source": b.Source, "place": b.Place, "limits": b.Limits} {
		if name == "" {
			continue
		}
		if text := p.unknown(dimension, name); text != "" {
			d.Fail(strict.Join("baseline", dimension), "%s", text)
		}
	}
	if b.Clients != 0 && !slices.Contains(p.Clients, b.Clients) {
		d.Fail("baseline.clients", "%s", p.unknown("clients", strconv.Itoa(b.Clients)))
	}
}

// checkMatrix checks the cells: there is at least one, there are not too many, and the baseline is among them.
func checkMatrix(d *strict.Decoder, p *Plan) {
	if p.product() > maxCells {
		d.Fail("", "the matrix has more than %d cells: make it smaller", maxCells)
		return
	}
	if n := p.patterns(); n*p.product() > maxMatching {
		d.Fail("", "include and exclude have %d names, too many for a matrix of this size: use patterns like rand*", n)
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
		d.Fail("", "the matrix is empty: %s", whyEmpty(p))
	case !found:
		d.Fail("baseline", "no cell of the matrix is the baseline: %s has no %s, or include and exclude take it out", p.Baseline.Engine, p.Baseline.Place)
	}
}

// maxMatching bounds the work of include and exclude: the number of their names times the number of cells.
const maxMatching = 2_000_000

// patterns counts the names in include and exclude.
func (p *Plan) patterns() int {
	n := 0
	for _, m := range append(slices.Clip(p.Include), p.Exclude...) {
		n += 1 + len(m.Workload) + len(m.Engine) + len(m.Source) + len(m.Place) + len(m.Limits) + len(m.Clients)
	}
	return n
}

// whyEmpty says why no cell is left.
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
