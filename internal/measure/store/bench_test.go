package store

import (
	"os"
	"testing"

	"plimsoll/internal/measure/record"
)

// benchTrials is the size of a big run: the report has 2 s for it.
const benchTrials = 10_000

func fill(b *testing.B, s *Store, n int) {
	b.Helper()
	must(b, s.PutRun(sampleRun("bench")))
	for i := range n {
		must(b, s.PutTrial(sampleTrial("bench", i, 12)))
	}
}

// BenchmarkTrials reads ten thousand trials; ns/trial is what to look at.
func BenchmarkTrials(b *testing.B) {
	s := openTemp(b)
	fill(b, s, benchTrials)
	if fi, err := os.Stat(s.path); err == nil {
		b.Logf("%d bytes a trial in the database", fi.Size()/benchTrials)
	}
	for _, hists := range []bool{false, true} {
		name := "scalars"
		if hists {
			name = "histograms"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range s.EachTrial("bench", TrialsOptions{Histograms: hists}) {
					must(b, err)
					n++
				}
				if n != benchTrials {
					b.Fatalf("read %d trials", n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchTrials, "ns/trial")
		})
	}
	b.Run("slots", func(b *testing.B) {
		for b.Loop() {
			slots, err := s.Slots("bench")
			must(b, err)
			if len(slots) != benchTrials {
				b.Fatalf("read %d slots", len(slots))
			}
		}
	})
}

// BenchmarkPutTrial writes trials, histograms included.
func BenchmarkPutTrial(b *testing.B) {
	s := openTemp(b)
	must(b, s.PutRun(sampleRun("bench")))
	var trials []record.Trial
	for i := range 64 {
		trials = append(trials, sampleTrial("bench", i, 12))
	}
	i := 0
	for b.Loop() {
		t := trials[i%64]
		t.Block = i
		must(b, s.PutTrial(t))
		i++
	}
}
