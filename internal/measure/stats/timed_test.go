package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// A machine makes the noise of a run in time: what a trial meets depends on when it runs. Standard deviations are of the log
// of a rate.
type machine struct {
	name string
	// wander is noise that all cells share and that changes over a time of memory seconds (Ornstein-Uhlenbeck).
	wander, memory float64
	// diskOnly spares the workloads in memory, every third.
	diskOnly bool
	// white is the noise of the operations of a trial of 400 ms; shorter ones have more.
	white float64
	// luck is drawn for each cell and block: where a new container and its files lie.
	luck float64
	// burst is by how much a neighbour slows everything, for a second, half of the time.
	burst float64
	// stalls is how many stalls of 50 ms there are in a second.
	stalls float64
	// halts is how often in a second the disk stands still for half a second, which a window then ends with.
	halts float64
	// carry slows the trial after a writing workload's.
	carry float64
}

// machines are those of the campaign. Their noise is that of virtual machines on which the design was measured: small on a quiet
// one, 10 to 20 % on one with neighbours.
var machines = []machine{
	{name: "quiet", wander: 0.02, memory: 3, white: 0.02, luck: 0.01},
	{name: "wander 0.05 s", wander: 0.15, memory: 0.05, white: 0.04, luck: 0.03},
	{name: "wander 0.3 s", wander: 0.15, memory: 0.3, white: 0.04, luck: 0.03},
	{name: "wander 3 s", wander: 0.15, memory: 3, white: 0.04, luck: 0.03},
	{name: "wander 60 s", wander: 0.15, memory: 60, white: 0.04, luck: 0.03},
	{name: "disk wanders", wander: 0.2, memory: 3, diskOnly: true, white: 0.02, luck: 0.03},
	{name: "bursts", burst: 0.4, white: 0.04, luck: 0.03},
	{name: "container luck", wander: 0.05, memory: 3, white: 0.04, luck: 0.15},
	{name: "stalls", wander: 0.05, memory: 3, white: 0.04, luck: 0.03, stalls: 0.5},
	{name: "halts", wander: 0.05, memory: 3, white: 0.04, luck: 0.03, halts: 0.3},
	{name: "carry-over", wander: 0.05, memory: 3, white: 0.04, luck: 0.03, carry: 0.2},
	{name: "all of it", wander: 0.1, memory: 3, white: 0.04, luck: 0.05, burst: 0.2, stalls: 0.3, carry: 0.1},
}

// A design is how a run spends its time. Times are in seconds.
type design struct {
	name   string
	blocks int
	window float64
	// overhead is a trial's beside its window, and opening that of a block.
	overhead, opening float64
	// together keeps the cells of a workload together.
	together bool
}

// designs are what `plimsoll run` did and does, each in five minutes for nine workloads of ten cells.
var designs = []design{
	{"6 blocks of 400 ms, shuffled", 6, 0.4, 0.12, 1.5, false},
	{"6 blocks of 400 ms, together", 6, 0.4, 0.12, 1.5, true},
	{"20 blocks of 100 ms, shuffled", 20, 0.1, 0.045, 1.5, false},
	{"20 blocks of 100 ms, together", 20, 0.1, 0.045, 1.5, true},
}

// draw makes one run. Cell 0 of each workload is the baseline, the last one its control; effect is the log of the true ratio
// of the odd cells to the others.
func (mc machine) draw(r *rand.Rand, d design, workloads, cells int, effect float64) (m Matrix, pairs []Pair) {
	m = Matrix{Values: make([][]float64, workloads*cells), Cells: make([]string, workloads*cells)}
	for i := range m.Values {
		m.Values[i] = make([]float64, d.blocks)
		switch k := i % cells; k {
		case 0:
		default:
			pairs = append(pairs, Pair{Cell: i, Baseline: i - k, Control: k == cells-1})
		}
	}
	var now float64
	slow := mc.wander * r.NormFloat64()
	for b := range d.blocks {
		now += d.opening
		slow = mc.next(r, slow, d.opening)
		wrote := false
		for _, i := range d.order(r, workloads, cells) {
			w, k := i/cells, i%cells
			x := mc.luck*r.NormFloat64() + mc.white*math.Sqrt(0.4/d.window)*r.NormFloat64()
			if !mc.diskOnly || w%3 != 0 {
				x += slow
			}
			if mc.burst > 0 && int(now)%2 == 0 {
				x -= mc.burst
			}
			if n := mc.stalls * d.window; r.Float64() < n {
				x += math.Log(max(0.1, 1-0.05/d.window))
			}
			if r.Float64() < mc.halts*d.window {
				x += math.Log(d.window / (d.window + 0.5))
			}
			if wrote {
				x -= mc.carry
			}
			if k%2 == 1 && k != cells-1 {
				x += effect
			}
			wrote = w >= workloads/2
			m.Values[i][b] = 1000 * math.Exp(x)
			now += d.window + d.overhead
			slow = mc.next(r, slow, d.window+d.overhead)
		}
	}
	return m, pairs
}

// next is the shared noise after dt seconds.
func (mc machine) next(r *rand.Rand, x, dt float64) float64 {
	if mc.memory == 0 {
		return 0
	}
	keep := math.Exp(-dt / mc.memory)
	return keep*x + mc.wander*math.Sqrt(1-keep*keep)*r.NormFloat64()
}

// order is a block's order of trials.
func (d design) order(r *rand.Rand, workloads, cells int) []int {
	if !d.together {
		return r.Perm(workloads * cells)
	}
	var order []int
	for _, w := range r.Perm(workloads) {
		for _, k := range r.Perm(cells) {
			order = append(order, w*cells+k)
		}
	}
	return order
}

// A score is how a design did on a machine.
type score struct {
	// covered is the share of runs in which all intervals held, wrong the share with a false find.
	covered, wrong float64
	// settled is the share of comparisons with the right verdict, found that of the cells with an effect. width is the median
	// half width in percent.
	settled, found, width float64
}

// A truth is what a simulated run's cells are: the odd ones have an effect, the log of their ratio.
type truth struct {
	cells  int
	effect float64
}

// of returns the ratio of a comparison and the verdict that is right.
func (tr truth) of(c Comparison) (float64, Verdict) {
	switch odd := c.Pair.Cell%tr.cells%2 == 1; {
	case !odd || tr.effect == 0:
		return 1, Equivalent
	case tr.effect > 0:
		return math.Exp(tr.effect), Faster
	}
	return math.Exp(tr.effect), Slower
}

// outcomes counts what simulated runs said.
type outcomes struct {
	truth
	runs, covered, wrong           int
	right, all, found, withEffects int
	widths                         []float64
}

// look reports whether all intervals hold, and whether there is a false find.
func (n *outcomes) look(all []Comparison) (holds, lies bool) {
	holds = true
	for _, c := range all {
		if c.Pair.Control {
			continue
		}
		ratio, want := n.of(c)
		holds = holds && c.Low <= ratio && ratio <= c.High
		lies = lies || want == Equivalent && (c.Verdict == Faster || c.Verdict == Slower)
	}
	return holds, lies
}

// end counts the verdicts at the end of a run, of which all looks held, or one lied.
func (n *outcomes) end(all []Comparison, held, lied bool) {
	n.runs++
	if held {
		n.covered++
	}
	if lied {
		n.wrong++
	}
	for _, c := range all {
		if c.Pair.Control {
			continue
		}
		_, want := n.of(c)
		if n.all++; c.Verdict == want {
			n.right++
		}
		if want != Equivalent {
			if n.withEffects++; c.Verdict == want {
				n.found++
			}
		}
		n.widths = append(n.widths, 50*math.Log(c.High/c.Low))
	}
}

// score is the outcomes in shares.
func (n *outcomes) score() score {
	of := func(k, n int) float64 { return float64(k) / float64(max(1, n)) }
	return score{covered: of(n.covered, n.runs), wrong: of(n.wrong, n.runs), settled: of(n.right, n.all), found: of(n.found, n.withEffects), width: Median(n.widths)}
}

// play draws runs and compares them.
func (mc machine) play(d design, workloads, cells int, effect float64, reps int) score {
	r := rand.New(rand.NewPCG(7, 7))
	n := outcomes{truth: truth{cells, effect}}
	for range reps {
		m, pairs := mc.draw(r, d, workloads, cells, effect)
		all := Compare(m, pairs, Options{Resamples: 1000, Seed: 1})
		held, lied := n.look(all)
		n.end(all, held, lied)
	}
	return n.score()
}

// TestTimed plays the design of the default plan on the worst machine: what it says is right together in 95 of 100 runs, and
// it finds what is there.
func TestTimed(t *testing.T) {
	mc, d := machines[len(machines)-1], designs[len(designs)-1]
	const reps = 40
	null := mc.play(d, 9, 10, 0, reps)
	if low := 0.93 - 3*math.Sqrt(0.93*0.07/reps); null.covered < low {
		t.Errorf("covered %.3f, want at least %.3f", null.covered, low)
	}
	if high := 0.05 + 3*math.Sqrt(0.05*0.95/reps); null.wrong > high {
		t.Errorf("false finds in %.3f of runs, want at most %.3f", null.wrong, high)
	}
	if s := mc.play(d, 9, 10, math.Log(0.7), 5); s.found < 0.9 {
		t.Errorf("30 %% slower was found in %.2f of the cells", s.found)
	}
}

// TestTimedCampaign prints the table of METHOD.md's timed machines:
//
//	PLIMSOLL_CAMPAIGN=1 PLIMSOLL_REPS=100 go test -run TimedCampaign -v -timeout 1h ./internal/measure/stats
func TestTimedCampaign(t *testing.T) {
	reps := 0
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		reps = 100
	}
	if v, err := strconv.Atoi(os.Getenv("PLIMSOLL_REPS")); err == nil && reps > 0 && v > 0 {
		reps = v
	}
	if reps == 0 {
		t.Skip("the long simulation runs with PLIMSOLL_CAMPAIGN=1")
	}
	for _, mc := range machines {
		for i, d := range designs {
			n := reps
			if i == len(designs)-1 {
				n *= 4 // That is what runs do.
			}
			null := mc.play(d, 9, 10, 0, n)
			// Four standard errors of the simulation below 0.93.
			if n > reps && null.covered < 0.93-4*math.Sqrt(0.93*0.07/float64(n)) {
				t.Errorf("%s: coverage %.3f", mc.name, null.covered)
			}
			fmt.Printf("%-16s %-30s equal: covered %5.1f, false finds %4.1f, settled %5.1f, half width %5.1f |", mc.name, d.name, 100*null.covered, 100*null.wrong, 100*null.settled, null.width)
			for _, ratio := range []float64{0.9, 0.85, 0.7} {
				s := mc.play(d, 9, 10, math.Log(ratio), reps/4)
				fmt.Printf(" %.2f: %5.1f", ratio, 100*s.found)
			}
			fmt.Println()
		}
	}
}
