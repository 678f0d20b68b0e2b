package load

import (
	"math"
	"sync"
	"testing"
	"time"
)

// Jobs of a flow begin I/Os in the relation of their weights, as long as all of them run.
func TestFlowHoldsShares(t *testing.T) {
	for name, depth := range map[string]int{"one at a time": 1, "several": 8} {
		t.Run(name, func(t *testing.T) {
			var f Flow
			weights := []int{1, 8, 3}
			var runs []*Run
			for _, w := range weights {
				runs = append(runs, prepare(t, Job{RW: Read, Size: 1 << 30, IOEngine: Null, IODepth: depth, Runtime: 300 * time.Millisecond, FlowWeight: w, Trace: MaxTrace}))
				runs[len(runs)-1].Join(&f)
			}
			results := make([]*Result, len(runs))
			var all sync.WaitGroup
			for i, r := range runs {
				all.Go(func() {
					var err error
					if results[i], err = r.Start(t.Context(), nil); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if t.Failed() {
				return
			}
			end := func(r *Result, o TracedIO) time.Time { return r.Start.Add(o.End) }
			until := end(results[0], results[0].Trace[len(results[0].Trace)-1])
			for _, r := range results[1:] {
				if last := end(r, r.Trace[len(r.Trace)-1]); last.Before(until) {
					until = last
				}
			}
			counts, total := make([]float64, len(runs)), 0.0
			for i, r := range results {
				for _, o := range r.Trace {
					if !end(r, o).After(until) {
						counts[i]++
						total++
					}
				}
			}
			for i, w := range weights {
				// The clocks of two runs differ by microseconds, in which one may do a few.
				if want := total * float64(w) / 12; math.Abs(counts[i]-want) > want/20+float64(2*depth+2) || total < 36 {
					t.Errorf("weight %d began %v of %v I/Os, want %.0f", w, counts[i], total, want)
				}
			}
			if n := f.weights.Load() + f.begun.Load(); n != 0 {
				t.Errorf("%d is left of jobs that have ended", n)
			}
		})
	}
}
