package stats

import "testing"

func TestSentence(t *testing.T) {
	slower := func(lo, hi float64) Comparison { return Comparison{Verdict: Slower, Low: lo, High: hi, Blocks: 6} }
	faster := func(lo, hi float64) Comparison { return Comparison{Verdict: Faster, Low: lo, High: hi, Blocks: 6} }
	tests := []struct {
		c    Comparison
		want string
	}{
		{slower(0.81, 0.88), "slower by 12-19 %"},
		// Outward: 12.9 shows as 12, 18.1 as 19.
		{slower(0.819, 0.871), "slower by 12-19 %"},
		{slower(0.8799, 0.8801), "slower by 11-13 %"},
		{slower(0.5, 0.95), "slower by 5-50 %"},
		{slower(0.3, 0.8), "slower by 20-70 %"},
		{slower(0.3, 0.501), "slower by 49-70 %"},
		{slower(0.3, 0.5), "2.0-3.4 times slower"},
		{slower(1/3.6, 1/3.1), "3.1-3.6 times slower"},
		{slower(0, 0.3), "slower by 70-100 %"},
		{slower(0.968, 0.996), "slower by 0.4-3.2 %"},
		{slower(0.968, 0.99995), "slower by up to 3.2 %"},
		{slower(0.85, 0.995), "slower by 0.5-15.0 %"},
		{slower(0.9, 0.98), "slower by 2-10 %"},
		{slower(0.9001, 0.98), "slower by 2.0-10.0 %"},
		{faster(1.12, 1.19), "faster by 12-19 %"},
		{faster(1.1199, 1.1901), "faster by 11-20 %"},
		{faster(1.02, 1.09), "faster by 2.0-9.0 %"},
		{faster(1.5, 1.999), "faster by 50-100 %"},
		{faster(1.5, 2), "1.5-2.0 times faster"},
		{faster(2.1, 2.4), "2.1-2.4 times faster"},
		{faster(2.19, 2.31), "2.1-2.4 times faster"},
		{faster(9.99, 10.01), "9.9-10.1 times faster"},
		{faster(12.5, 14.5), "12-15 times faster"},
		{faster(1234.5, 1500), "1,234-1,500 times faster"},
		{faster(999_999, 2e9), "999,999-2e+09 times faster"},
		{Comparison{Verdict: Faster, Low: 1.12, High: 1.19, Blocks: 3, Tentative: true}, "looks faster by 12-19 % (3 blocks can't prove it)"},
		{Comparison{Verdict: Equivalent, Margin: 0.05}, "equivalent within 5 %"},
		{Comparison{Verdict: Equivalent, Margin: 0.025}, "equivalent within 2.5 %"},
		{Comparison{Verdict: Equivalent, Margin: 0.05, Tentative: true, Blocks: 3}, "looks equivalent within 5 % (3 blocks can't prove it)"},
		{Comparison{Verdict: Inconclusive, More: 6}, "inconclusive: about 6 more blocks"},
		{Comparison{Verdict: Inconclusive, More: 1}, "inconclusive: about 1 more block"},
		{Comparison{Verdict: Inconclusive, More: maxMore}, "inconclusive: 1,000 more blocks or more"},
		{Comparison{Verdict: Inconclusive, TooNoisy: true, Floor: 0.0899}, "too noisy to say: two identical cells differ by up to 9.0 %"},
		{Comparison{Verdict: Inconclusive, TooNoisy: true, Floor: 0.121}, "too noisy to say: two identical cells differ by up to 13 %"},
		{Comparison{Verdict: NoData, Reason: "3 of 6 trials failed"}, "no data: 3 of 6 trials failed"},
		{Comparison{Pair: Pair{Control: true}, Verdict: Equivalent, Low: 0.98, High: 1.02, Floor: 0.012}, "noise floor: two identical cells differ by up to 1.2 %"},
		{Comparison{Pair: Pair{Control: true}, Verdict: Slower, Low: 0.8, High: 0.9, Floor: 0.23}, "noise floor: two identical cells differ by up to 23 %; they should not differ, but this one is slower by 10-20 %"},
	}
	for _, tt := range tests {
		if got := tt.c.Sentence(); got != tt.want {
			t.Errorf("Sentence(%v %v-%v) = %q, want %q", tt.c.Verdict, tt.c.Low, tt.c.High, got, tt.want)
		}
	}
}

// TestFloorInWords: from 100 % on a floor is a factor, and beyond ten no figure.
func TestFloorInWords(t *testing.T) {
	for _, row := range []struct {
		floor float64
		want  string
	}{
		{0.0372, "up to 3.8 %"}, {0.28, "up to 28 %"}, {0.99, "up to 99 %"}, {1, "a factor of up to 2.0"},
		{1.72, "a factor of up to 2.8"}, {9, "a factor of up to 10.0"}, {59, "more than a factor of 10"},
	} {
		if got := upTo(row.floor); got != row.want {
			t.Errorf("upTo(%v) = %q, want %q", row.floor, got, row.want)
		}
	}
	c := Comparison{Pair: Pair{Control: true}, Verdict: Inconclusive, Low: 0.4, High: 2.5, Floor: 1.72}
	if got, want := c.Sentence(), "noise floor: two identical cells differ by a factor of up to 2.8"; got != want {
		t.Errorf("Sentence = %q, want %q", got, want)
	}
}
