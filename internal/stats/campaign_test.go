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

func TestCampaign(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("PLIMSOLL_CAMPAIGN is not set")
	}
	reps := 400
	if v, err := strconv.Atoi(os.Getenv("PLIMSOLL_REPS")); err == nil {
		reps = v
	}
	for _, f := range families {
		for _, blocks := range []int{6, 10} {
			fmt.Printf("\n%d pairs, %d blocks; worlds:\n", f.workloads*f.cells, blocks)
			for _, me := range methods {
				if only := os.Getenv("PLIMSOLL_METHODS"); !strings.Contains(me.name, only) {
					continue
				}
				fmt.Printf("%-30s", me.name)
				worst := 1.0
				for i, w := range worlds {
					r := rand.New(rand.NewPCG(7, uint64(i)))
					ok := 0
					var widths []float64
					for range reps {
						m, pairs, truth := w.draw(r, f, blocks)
						ps := make([]paired, len(pairs))
						for i := range pairs {
							ps[i] = pair(m, pairs[i])
						}
						c, h := me.run(ps, r)
						hit := 1
						for i := range c {
							want := 0.0
							if me.median {
								want = truth[i]
							}
							if math.Abs(c[i]-want) > h[i] {
								hit = 0
							}
							widths = append(widths, h[i])
						}
						ok += hit
					}
					slices.Sort(widths)
					cov := float64(ok) / float64(reps)
					worst = min(worst, cov)
					fmt.Printf(" %5.1f/%-5.1f", 100*cov, 100*widths[len(widths)/2])
				}
				fmt.Printf("  worst %.3f\n", worst)
			}
		}
	}
}
