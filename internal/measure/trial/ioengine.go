package trial

import (
	"fmt"
	"slices"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// strongest lists the I/O engines, the strongest first.
var strongest = []string{load.IOUring, load.LinuxAIO, load.PSync}

// probed is what one cell's worker found out about the I/O engines.
type probed struct {
	cell   string
	probes []load.Probe
}

// works reports whether engine works in this cell, and why not.
func (p probed) works(engine string) (bool, string) {
	for _, pr := range p.probes {
		if pr.Engine == engine {
			return pr.OK, pr.Reason
		}
	}
	return false, "not tried there"
}

// chooseEngine picks the I/O engine for the cells of a block workload. want is the plan's io_engine, or the job's own.
func chooseEngine(spec workload.Spec, want string, cells []probed) record.EngineChoice {
	switch want {
	case plan.Best:
		return record.EngineChoice{Engine: "", Why: "the strongest in each cell, as the plan asks: cells may differ"}
	case "", plan.Common:
	default:
		return record.EngineChoice{Engine: want, Why: "the plan asks for it"}
	}
	why := "the strongest there is"
	for _, e := range strongest {
		if e == load.LinuxAIO && !spec.Job.Direct {
			// io_submit waits for buffered I/O (fio's HOWTO, iodepth).
			continue
		}
		bad := slices.IndexFunc(cells, func(p probed) bool { ok, _ := p.works(e); return !ok })
		if bad < 0 {
			return record.EngineChoice{Engine: e, Why: why}
		}
		_, reason := cells[bad].works(e)
		why = fmt.Sprintf("the strongest that works in all cells; %s does not in %s: %s", e, cells[bad].cell, reason)
	}
	return record.EngineChoice{Engine: load.PSync, Why: why}
}

// choose picks the I/O engine of each block workload.
func (r *Runner) choose(found map[string][]probed) {
	r.engine = map[string]workload.Spec{}
	if r.run.IOEngine == nil {
		r.run.IOEngine = map[string]record.EngineChoice{}
	}
	for _, spec := range r.Plan.Workloads {
		// The record shows what was run, including defaults.
		spec = spec.WithDefaults()
		if spec.Kind == workload.Block || spec.Kind == "" {
			want := spec.Job.IOEngine
			if want == "" {
				want = r.Plan.IOEngine
			}
			choice := chooseEngine(spec, want, found[spec.Name])
			if before, ok := r.run.IOEngine[spec.Name]; ok && len(r.Earlier) > 0 {
				choice = before // A resumed run's blocks are compared with the earlier ones.
			}
			spec.Job.IOEngine = choice.Engine
			if len(found[spec.Name]) > 0 {
				r.run.IOEngine[spec.Name] = choice
			}
		}
		r.engine[spec.Name] = spec
	}
}
