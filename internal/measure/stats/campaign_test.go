package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// outcome is how a method did in one world.
type outcome struct {
	// covered is the share of reports in which every interval held the truth.
	covered float64
	// width is the median half width, in percent.
	width float64
}

// try runs a method on reps reports. All methods see the same reports.
func try(me method, w world, seed uint64, f family, blocks, reps int) outcome {
	data := rand.New(rand.NewPCG(seed, 1))
	own := rand.New(rand.NewPCG(seed, 2))
	held := 0
	var widths []float64
	for range reps {
		m, pairs, truth := w.draw(data, f, blocks)
		ps := make([]paired, len(pairs))
		for i := range pairs {
			ps[i] = pair(m, pairs[i], nil)
		}
		c, h := me.run(ps, own)
		all := true
		for i := range c {
			all = all && math.Abs(c[i]-truth[me.aim][i]) <= h[i]
		}
		if all {
			held++
		}
		widths = append(widths, h...)
	}
	return outcome{float64(held) / float64(reps), 100 * Median(widths)}
}

// TestCampaign prints the tables of METHOD.md:
//
//	PLIMSOLL_CAMPAIGN=1 go test -run Campaign -v -timeout 3h ./internal/measure/stats
//
// PLIMSOLL_REPS is the number of reports a world (default 400), PLIMSOLL_METHODS a part of
// the name of the methods to run (default: the chosen one; empty: all, for more than half an hour).
func TestCampaign(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("the long simulation runs with PLIMSOLL_CAMPAIGN=1")
	}
	reps := 400
	if v, err := strconv.Atoi(os.Getenv("PLIMSOLL_REPS")); err == nil && v > 0 {
		reps = v
	}
	part, given := os.LookupEnv("PLIMSOLL_METHODS")
	if !given {
		part = chosen
	}
	for _, f := range families {
		for _, blocks := range []int{6, 10, 20} {
			fmt.Printf("\n%d pairs, %d blocks, %d reports a world\n", f.workloads*f.cells, blocks, reps)
			for _, me := range methods {
				if strings.Contains(me.name, part) {
					campaign(t, me, f, blocks, reps)
				}
			}
		}
	}
}

// campaign prints a method's row: coverage and width by world. The chosen method must
// pass.
func campaign(t *testing.T, me method, f family, blocks, reps int) {
	var row strings.Builder
	var covers []float64
	for i, w := range worlds {
		o := try(me, w, uint64(i), f, blocks, reps)
		covers = append(covers, o.covered)
		fmt.Fprintf(&row, " %5.1f/%-5.1f", 100*o.covered, o.width)
		// Four standard errors of the simulation below 0.93.
		if me.name == chosen && o.covered < 0.93-4*math.Sqrt(0.93*0.07/float64(reps)) {
			t.Errorf("%d pairs, %d blocks, %s: coverage %.3f", f.workloads*f.cells, blocks, w.name, o.covered)
		}
	}
	fmt.Printf("%-31s worst %5.1f |%s\n", me.name, 100*slices.Min(covers), row.String())
}
