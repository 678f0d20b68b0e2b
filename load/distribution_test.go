package load

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// visits counts how often each of n blocks is drawn in total draws.
func visits(t *testing.T, dist string, n, total int) []float64 {
	t.Helper()
	j := Job{RW: RandRead, BS: 4096, Distribution: dist, Runtime: time.Second}
	seen := make([]float64, n)
	for _, s := range drawMany(t, j, int64(n)*4096, total) {
		seen[s.off/4096]++
	}
	return seen
}

// chi is the chi-squared statistic of the counts against the probabilities, with all cells of under 10 expected visits taken as one.
func chi(seen, prob []float64, total float64) (sum float64, cells int) {
	restSeen, restWant := 0.0, 0.0
	add := func(s, w float64) { sum += (s - w) * (s - w) / w; cells++ }
	for i := range seen {
		if w := prob[i] * total; w >= 10 {
			add(seen[i], w)
		} else {
			restSeen, restWant = restSeen+seen[i], restWant+w
		}
	}
	if restWant >= 10 {
		add(restSeen, restWant)
	}
	return sum, cells
}

// limit is about the 0.9999 quantile of chi-squared (Wilson and Hilferty).
func limit(cells int) float64 {
	k := float64(cells - 1)
	x := 1 - 2/(9*k) + 3.72*math.Sqrt(2/(9*k))
	return k * x * x * x
}

func TestZipfHasItsProbabilities(t *testing.T) {
	for _, theta := range []string{"0.5", "0.99", "1", "1.2", "2.5"} {
		const n, total = 500, 200000
		seen := visits(t, Zipf+":"+theta, n, total)
		slices.SortFunc(seen, func(a, b float64) int { return int(b - a) })
		th := map[string]float64{"0.5": 0.5, "0.99": 0.99, "1": 1, "1.2": 1.2, "2.5": 2.5}[theta]
		prob, sum := make([]float64, n), 0.0
		for k := range prob {
			prob[k] = math.Pow(float64(k+1), -th)
			sum += prob[k]
		}
		for k := range prob {
			prob[k] /= sum
		}
		// Sorting makes the rare ones too even, so only the frequent ones count.
		if c, cells := chi(seen[:20], prob[:20], total); c > limit(cells) {
			t.Errorf("zipf:%s: chi squared %v over %d cells", theta, c, cells)
		}
	}
}

func TestZipfIsScattered(t *testing.T) {
	seen := visits(t, "zipf:1.2", 1000, 100000)
	first := slices.Index(seen, slices.Max(seen))
	if head := seen[first] + seen[min(first+1, 999)]; head > 1.8*seen[first] {
		t.Errorf("the two most frequent blocks are neighbours")
	}
}

func TestParetoIsSelfSimilar(t *testing.T) {
	const n, total = 1000, 200000
	seen := visits(t, "pareto:0.2", n, total)
	slices.SortFunc(seen, func(a, b float64) int { return int(b - a) })
	head := 0.0
	for _, s := range seen[:n/5] {
		head += s
	}
	if share := head / total; math.Abs(share-0.8) > 0.01 {
		t.Errorf("20 %% of the blocks took %v of the I/Os, want 0.8", share)
	}
}

func TestZones(t *testing.T) {
	const n, total = 1000, 200000
	for _, dist := range []string{"zoned:60/10:30/20:8/30:2/40", "zoned_abs:60/400k:30/800k:8/1200k:2"} {
		seen := visits(t, dist, n, total)
		from := 0
		for _, z := range []struct {
			blocks int
			share  float64
		}{{100, 0.6}, {200, 0.3}, {300, 0.08}, {400, 0.02}} {
			got := 0.0
			for _, s := range seen[from : from+z.blocks] {
				got += s
			}
			from += z.blocks
			if math.Abs(got/total-z.share) > 0.01 {
				t.Errorf("%s: the %d blocks up to %d took %v of the I/Os, want %v", dist, z.blocks, from, got/total, z.share)
			}
		}
	}
}

func TestParseDistributionRefuses(t *testing.T) {
	for s, want := range map[string]string{
		"zipf:0": "theta", "zipf:x": "one number", "zipf:NaN": "theta", "zipf:1.2:1.5": "center must be from 0 to 1", "zipf::0.5": "one number",
		"pareto:0.2:x": "center", "normal:20:NaN": "center", "normal:20:0.5:1": "center",
		"pareto:1": "between 0 and 1", "normal:101": "0 to 100", "zoned:50/10": "add up to 50",
		"zoned:50/60:50/60": "more than 100", "zoned:50:50/50": "only the last", "zoned:a/b": "percentage",
		"zoned_abs:100/-1k": "bytes", "gauss:1": "not one of", "random:1": "no parameter",
	} {
		if _, err := ParseDistribution(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDistribution(%q) = %v, want %q", s, err, want)
		}
	}
}

func FuzzParseDistribution(f *testing.F) {
	for _, s := range []string{"", "random", "zipf:1.2", "pareto:.2", "normal:10", "zoned:60/10:40", "zoned_abs:100/1g", "zipf:1e300", "zipf:1.2:1", "pareto:.3:0", "normal:40:0.25"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDistribution(s)
		if err != nil {
			return
		}
		g := generator{rng: 1}
		if dist := newDistribution(d, 7, 4096, 1); dist != nil {
			for range 10 {
				if n := dist.next(&g); n >= 7 {
					t.Fatalf("%q drew block %d of 7", s, n)
				}
			}
		}
	})
}
