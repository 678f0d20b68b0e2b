package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// A sequence is how a run looks at its verdicts and goes on.
type sequence struct {
	name string
	// first is the number of blocks before the first look, budget what it may measure in all, in blocks of all cells.
	first, budget int
	// drop leaves out what is settled, and gives its time to the rest; doubling looks again at twice the blocks each time.
	drop, doubling bool
	// free spends nothing for a look.
	free bool
}

// sequences are what a run does without a flag, with the time of settled cells given to the others at half-time, with --until-settled, and what
// --resume --blocks did before looks were counted.
var sequences = []sequence{
	{name: "20 blocks", first: 20, budget: 20},
	{name: "half-time, time given", first: 10, budget: 20, drop: true},
	{name: "40 blocks", first: 40, budget: 40},
	{name: "20, then only open ones", first: 20, budget: 40, drop: true},
	{name: "20, then until settled", first: 20, budget: 80, drop: true, doubling: true},
	{name: "the same, looks are free", first: 20, budget: 80, drop: true, doubling: true, free: true},
	{name: "20, then 40", first: 20, budget: 40},
}

// follow draws runs and lets them follow a sequence. All intervals of all looks must hold together.
func (mc machine) follow(q sequence, workloads, cells int, effect float64, reps int) score {
	r := rand.New(rand.NewPCG(7, 7))
	d := designs[len(designs)-1]
	d.blocks = 2 * q.budget
	n := outcomes{truth: truth{cells, effect}}
	for range reps {
		m, pairs := mc.draw(r, d, workloads, cells, effect)
		held, lied := true, false
		length := make([]int, len(m.Values)) // Of the rows that are left out.
		spent, blocks := float64(q.first), q.first
		var last []Comparison
		for look := 0; ; look++ {
			for i := range pairs {
				if length[pairs[i].Cell] == 0 && !q.free {
					pairs[i].Look = look
				}
			}
			last = Compare(m.cut(blocks, length), pairs, Options{Resamples: 1000, Seed: 1})
			holds, lies := n.look(last)
			held, lied = held && holds, lied || lies
			kept := q.leaveOut(last, cells, blocks, length)
			if kept == 0 {
				break
			}
			share := float64(kept) / float64(len(m.Values))
			more := min(int((float64(q.budget)-spent)/share), d.blocks-blocks)
			if q.doubling {
				more = min(more, blocks)
			}
			if more < 1 {
				break
			}
			spent += float64(more) * share
			blocks += more
		}
		n.end(last, held, lied)
	}
	return n.score()
}

// cut returns the first blocks of m, and fewer of the rows with a length.
func (m Matrix) cut(blocks int, length []int) Matrix {
	out := Matrix{Cells: m.Cells, Values: make([][]float64, len(m.Values))}
	for i, row := range m.Values {
		out.Values[i] = row[:blocks]
		if length[i] > 0 {
			out.Values[i] = row[:length[i]]
		}
	}
	return out
}

// leaveOut sets the length of the rows that are not measured on after a look, and returns how many are.
func (q sequence) leaveOut(seen []Comparison, cells, blocks int, length []int) int {
	open, used := map[int]bool{}, map[int]bool{}
	for _, c := range seen {
		if !c.Pair.Control && c.Verdict == Inconclusive {
			open[c.Pair.Cell], used[c.Pair.Cell/cells] = true, true
		}
	}
	kept := 0
	for i := range length {
		switch k := i % cells; {
		case !q.drop, open[i], used[i/cells] && (k == 0 || k == cells-1):
			kept++
		case length[i] == 0:
			length[i] = blocks
		}
	}
	return kept
}

// TestLooks: who looks four times, each time at twice the blocks, errs as seldom as one who looks once; without the looks' own levels
// he would err twice as often.
func TestLooks(t *testing.T) {
	const reps = 1500
	r := rand.New(rand.NewPCG(3, 4))
	errs := map[bool]int{}
	for range reps {
		cell, base := make([]float64, 80), make([]float64, 80)
		for b := range cell {
			cell[b], base[b] = math.Exp(0.1*r.NormFloat64()), 1
		}
		for _, free := range []bool{false, true} {
			for look, blocks := range []int{10, 20, 40, 80} {
				p := Pair{Cell: 0, Baseline: 1, Look: look}
				if free {
					p.Look = 0
				}
				if c := Compare(matrix(cell[:blocks], base[:blocks]), []Pair{p}, Options{})[0]; c.Low > 1 || c.High < 1 {
					errs[free]++
					break
				}
			}
		}
	}
	share := func(free bool) float64 { return float64(errs[free]) / reps }
	if limit := 0.054 + 3*math.Sqrt(0.05*0.95/reps); share(false) > limit {
		t.Errorf("one of four looks errs in %.3f of the runs, want at most %.3f", share(false), limit)
	}
	if share(true) < 0.09 {
		t.Errorf("looks at the same level err in %.3f of the runs: this test shows nothing", share(true))
	}
	t.Logf("%.3f, without levels of their own %.3f", share(false), share(true))
}

// TestLooksCampaign prints the table of METHOD.md's looks:
//
//	PLIMSOLL_CAMPAIGN=1 go test -run LooksCampaign -v -timeout 1h ./internal/measure/stats
func TestLooksCampaign(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("the long simulation runs with PLIMSOLL_CAMPAIGN=1")
	}
	const reps = 100
	for _, mc := range machines {
		for _, q := range sequences {
			null := mc.follow(q, 9, 10, 0, reps)
			some := mc.follow(q, 9, 10, math.Log(0.85), reps/4)
			fmt.Printf("%-16s %-26s equal: covered %5.1f, false finds %4.1f, settled %5.1f, half width %5.1f | 0.85: %5.1f found, %5.1f settled\n",
				mc.name, q.name, 100*null.covered, 100*null.wrong, 100*null.settled, null.width, 100*some.found, 100*some.settled)
			if !q.free && null.covered < 0.93-4*math.Sqrt(0.93*0.07/reps) {
				t.Errorf("%s, %s: coverage %.3f", mc.name, q.name, null.covered)
			}
		}
	}
}
