package report

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/measure/record"
)

// Build makes the model of a run from its records. Trials may come in any order,
// of any block, failed or not; trials of another run are ignored.
func Build(run record.Run, trials []record.Trial, opt Options) *Report {
	if opt.TrialHistograms == 0 {
		opt.TrialHistograms = 20_000
	}
	if !(run.Margin > 0 && run.Margin < 1) {
		run.Margin = 0.05
	}
	g := gather(run, trials)
	r := &Report{Run: run, Question: questionOf(run)}
	notes := make([]notebook, len(g.workloads))
	for i, w := range g.workloads {
		r.Workloads = append(r.Workloads, g.workload(w, &notes[i]))
	}
	r.addConcerns(notes)
	g.compare(r, opt)
	g.stalls(r)
	number(r)
	g.interference(r, opt)
	g.limits(r)
	r.summary()
	r.addTrials(g, opt)
	r.Remarks = remarks(r, g, opt)
	r.answer(opt)
	r.InDoubt, _ = r.inDoubt()
	r.Next = r.next(g, opt)
	r.nameEveryday(g)
	r.brief()
	return r
}

// gathered holds the trials of a run by workload and cell.
type gathered struct {
	run    record.Run
	blocks []int
	// workloads and cells are in the order in which they were first run, which is
	// not the tables' order (see sortCells).
	workloads []string
	cells     map[string][]*group
	trials    []*record.Trial
	// stored are the workloads whose rates include the time until the writes were on the storage: see untilStored.
	stored map[string]bool
}

// group is the trials of one cell, by block.
type group struct {
	cell   record.Cell
	key    string
	trials []*record.Trial
	// at is where in trials a block is.
	at map[int]int
}

func gather(run record.Run, trials []record.Trial) *gathered {
	g := &gathered{run: run, cells: map[string][]*group{}}
	for i := range trials {
		if t := &trials[i]; t.Run == run.ID || t.Run == "" {
			g.trials = append(g.trials, t)
		}
	}
	slices.SortStableFunc(g.trials, func(a, b *record.Trial) int { return cmp.Compare(a.Order, b.Order) })
	g.untilStored()
	groups := map[record.Cell]*group{}
	blocks := map[int]bool{}
	for _, t := range g.trials {
		c := groups[t.Cell]
		if c == nil {
			c = &group{cell: t.Cell, key: t.Key, at: map[int]int{}}
			groups[t.Cell] = c
			g.addWorkload(t.Cell.Workload)
			g.cells[t.Cell.Workload] = append(g.cells[t.Cell.Workload], c)
		}
		c.add(t)
		if !blocks[t.Block] {
			blocks[t.Block] = true
			g.blocks = append(g.blocks, t.Block)
		}
	}
	for _, s := range run.Skipped {
		g.addWorkload(s.Cell.Workload)
	}
	slices.Sort(g.blocks)
	slices.SortStableFunc(g.workloads, func(a, b string) int { return cmp.Compare(g.planOrder(a), g.planOrder(b)) })
	for w := range g.cells {
		g.sortCells(w)
	}
	return g
}

func (g *gathered) addWorkload(name string) {
	if !slices.Contains(g.workloads, name) {
		g.workloads = append(g.workloads, name)
	}
}

// add keeps one trial a block. A resumed run may repeat a failed trial; a measured one replaces it.
func (c *group) add(t *record.Trial) {
	i, repeated := c.at[t.Block]
	switch {
	case !repeated:
		c.at[t.Block] = len(c.trials)
		c.trials = append(c.trials, t)
	case t.Status == record.Done || c.trials[i].Status != record.Done:
		c.trials[i] = t
	}
}

// measured reports whether t has a figure. 0 is a figure: the trial moved nothing.
func measured(t *record.Trial) bool {
	return t.Status == record.Done && t.Value >= 0 && !math.IsInf(t.Value, 0)
}

// sortCells puts the baseline first and its control second. The others follow engine by engine and place by place in the
// order of the plan, or by name where the plan has no order.
func (g *gathered) sortCells(w string) {
	base := g.run.Baseline[w]
	rank := func(c *group) int {
		switch {
		case c.cell.Control:
			return 1
		case c.key == base:
			return 0
		}
		return 2
	}
	slices.SortStableFunc(g.cells[w], func(a, b *group) int {
		x, y := a.cell, b.cell
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(engineOrder(x.Engine), engineOrder(y.Engine)),
			cmp.Compare(x.Engine, y.Engine),
			cmp.Compare(placeOrder(x.Source), placeOrder(y.Source)),
			cmp.Compare(x.Source, y.Source),
			cmp.Compare(placeOrder(x.Place), placeOrder(y.Place)),
			cmp.Compare(x.Place, y.Place),
			cmp.Compare(limitsOrder(x.Limits), limitsOrder(y.Limits)),
			cmp.Compare(x.Limits, y.Limits),
			cmp.Compare(x.Clients, y.Clients),
		)
	})
}

// number gives every cell of r its index.
func number(r *Report) {
	n := 0
	for i := range r.Workloads {
		for j := range r.Workloads[i].Cells {
			r.Workloads[i].Cells[j].Index = n
			n++
		}
	}
}
