package hist

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The vectors were computed with fio's plat_val_to_idx and plat_idx_to_val.
func TestBucketsAreFios(t *testing.T) {
	for _, v := range []struct {
		ns  uint64
		idx int
		mid uint64
	}{
		{0, 0, 0}, {1, 1, 1}, {127, 127, 127}, {128, 128, 129}, {255, 191, 255}, {256, 192, 258},
		{1000, 317, 1004}, {4095, 447, 4080}, {4096, 448, 4128}, {87000, 724, 86528},
		{100000, 737, 99840}, {1e6, 954, 1003520}, {1e7, 1164, 10027008}, {1e9, 1591, 1002438656},
		{1<<34 - 1, 1855, 17112760320}, {1 << 34, 1855, 17112760320}, {17.2e9, 1855, 17112760320}, {math.MaxUint64, 1855, 17112760320},
		// Bins of the sample in fio's HOWTO are the middle of their own bucket.
		{87552, Index(87552), 87552}, {89600, Index(89600), 89600}, {94720, Index(94720), 94720},
		{104960, Index(104960), 104960}, {107008, Index(107008), 107008},
	} {
		if got := Index(v.ns); got != v.idx {
			t.Errorf("Index(%d) = %d, want %d", v.ns, got, v.idx)
		}
		if got := Value(v.idx); got != v.mid {
			t.Errorf("Value(%d) = %d, want %d", v.idx, got, v.mid)
		}
	}
	if Buckets != 1856 {
		t.Errorf("Buckets = %d, want 1856", Buckets)
	}
	if Value(-1) != 0 || Value(1<<40) != 17112760320 {
		t.Errorf("Value outside of the layout = %d, %d", Value(-1), Value(1<<40))
	}
}

func TestBucketErrorIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		v := rng.Uint64() >> (30 + rng.IntN(34))
		mid := Value(Index(v))
		if d := math.Abs(float64(mid) - float64(v)); d > float64(v)/128 {
			t.Fatalf("Value(Index(%d)) = %d: off by more than 1/128", v, mid)
		}
	}
	for i := range Buckets {
		if Index(Value(i)) != i {
			t.Fatalf("Index(Value(%d)) = %d", i, Index(Value(i)))
		}
	}
}

// isZero checks that all figures of a histogram without values are 0.
func isZero(t *testing.T, h *Histogram) {
	t.Helper()
	for name, got := range map[string]float64{
		"Count": float64(h.Count()), "Sum": float64(h.Sum()), "Min": float64(h.Min()), "Max": float64(h.Max()),
		"Mean": h.Mean(), "StdDev": h.StdDev(), "Percentile(50)": float64(h.Percentile(50)),
	} {
		if got != 0 {
			t.Errorf("%s of a histogram without values = %v, want 0", name, got)
		}
	}
}

func TestEmpty(t *testing.T) {
	var h Histogram
	isZero(t, &h)
	for i, n := range h.All() {
		t.Errorf("empty histogram has bucket %d: %d", i, n)
	}
	h.Merge(nil)
	h.Merge(&Histogram{})
	if !h.Equal(nil) || !h.Equal(&Histogram{}) || !(*Histogram)(nil).Equal(&h) {
		t.Error("empty histograms differ")
	}
}

func TestRecordAgainstSortedValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var h Histogram
	var vals []int64
	var sum, sq float64
	for range 20001 {
		v := int64(math.Exp(rng.NormFloat64()*2 + 11))
		vals = append(vals, v)
		sum += float64(v)
		h.Record(v)
	}
	slices.Sort(vals)
	mean := sum / float64(len(vals))
	for _, v := range vals {
		sq += (float64(v) - mean) * (float64(v) - mean)
	}
	if got, want := totalsOf(&h), (totals{20001, vals[0], vals[20000], uint64(sum)}); got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
	near := func(what string, got, want, tol float64) {
		if math.Abs(got-want) > want*tol {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	near("Mean", h.Mean(), mean, 1e-9)
	near("StdDev", h.StdDev(), math.Sqrt(sq/float64(len(vals))), 0.01)
	for _, p := range []float64{0.01, 1, 10, 50, 90, 99, 99.9, 99.99} {
		near("Percentile", float64(h.Percentile(p)), float64(vals[int(math.Ceil(p/100*20001))-1]), 1.0/128)
	}
}

func TestPercentileStaysWithinMinAndMax(t *testing.T) {
	var h Histogram
	h.Record(100001)
	for _, p := range []float64{-5, 0, 1, 50, 99.9, 100, 500, math.Inf(1), math.Inf(-1)} {
		if got := h.Percentile(p); got != 100001 {
			t.Errorf("Percentile(%v) = %d, want 100001", p, got)
		}
	}
	if got := h.Percentile(math.NaN()); got != 0 {
		t.Errorf("Percentile(NaN) = %d, want 0", got)
	}
	if h.StdDev() != 0 {
		t.Errorf("StdDev of one value = %v", h.StdDev())
	}
}

func TestRecordExtremes(t *testing.T) {
	var h Histogram
	h.Record(-7)
	h.Record(math.MinInt64)
	h.Record(math.MaxInt64)
	h.Record(math.MaxInt64)
	h.Record(math.MaxInt64)
	if got, want := totalsOf(&h), (totals{5, 0, math.MaxInt64, math.MaxUint64}); got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
}

func TestMergeEqualsRecordingAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var all, merged Histogram
	for range 50 {
		var part Histogram
		for range rng.IntN(40) {
			v := rng.Int64N(1 << rng.IntN(40))
			all.Record(v)
			part.Record(v)
		}
		merged.Merge(&part)
	}
	if !merged.Equal(&all) {
		t.Error("merged parts differ from the whole")
	}
	merged.Record(1)
	if merged.Equal(&all) {
		t.Error("Equal does not see one more value")
	}
	merged.Reset()
	if !merged.Equal(&Histogram{}) {
		t.Error("Reset left something behind")
	}
}

func TestAllStopsWhenAsked(t *testing.T) {
	var h Histogram
	h.Record(3)
	h.Record(5)
	h.Record(5)
	var got [][2]uint64
	for i, n := range h.All() {
		got = append(got, [2]uint64{uint64(i), n})
	}
	if want := [][2]uint64{{3, 1}, {5, 2}}; !slices.Equal(got, want) {
		t.Errorf("All = %v, want %v", got, want)
	}
	for range h.All() {
		break
	}
}

func TestRecordDoesNotAllocate(t *testing.T) {
	var h Histogram
	v := int64(1)
	if n := testing.AllocsPerRun(1000, func() { h.Record(v); v += 997 }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

// TestNilIsEmpty: a field that is left out where there is nothing to tell can be asked.
func TestNilIsEmpty(t *testing.T) {
	var h *Histogram
	isZero(t, h)
	for i, n := range h.All() {
		t.Errorf("a nil histogram has %d values in bucket %d", n, i)
	}
	text, err := h.MarshalJSON()
	if err != nil || string(text) != `{"n":0}` {
		t.Errorf("MarshalJSON of nil = %s, %v", text, err)
	}
	var all Histogram
	all.Merge(h)
	if !all.Equal(h) {
		t.Error("merging nil adds something")
	}
	b, err := h.MarshalBinary()
	if err := all.UnmarshalBinary(b); err != nil || all.Count() != 0 {
		t.Errorf("the binary form of nil reads as %d values, %v", all.Count(), err)
	}
	if err != nil {
		t.Error(err)
	}
}

func BenchmarkRecord(b *testing.B) {
	var h Histogram
	v := uint64(1)
	for b.Loop() {
		v = v*6364136223846793005 + 1442695040888963407
		h.Record(int64(v >> 44))
	}
}

// BenchmarkMerge1000 merges 1,000 full histograms. The target is 10 ms.
func BenchmarkMerge1000(b *testing.B) {
	parts := make([]Histogram, 1000)
	for i := range parts {
		for v := uint64(1); v < 1<<33; v += v/64 + 1 {
			parts[i].Record(int64(v))
		}
	}
	for b.Loop() {
		var h Histogram
		for i := range parts {
			h.Merge(&parts[i])
		}
	}
}

// totals are the exact figures of a histogram.
type totals struct {
	count    uint64
	min, max int64
	sum      uint64
}

func totalsOf(h *Histogram) totals { return totals{h.Count(), h.Min(), h.Max(), h.Sum()} }
