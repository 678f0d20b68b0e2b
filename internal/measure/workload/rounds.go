package workload

import (
	"fmt"
	"sync"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/steady"
	"plimsoll/load"
)

// A SteadyState makes a block job run until it is steady, by both criteria of package steady, for its throughput and its
// mean latency, but no longer than Job.Runtime. Only the steady rounds count, or the last ones if it never got steady.
type SteadyState struct {
	// Round is the length of a round. 0: no steady state.
	Round time.Duration `json:"round"`
}

// Rounds is the course of a job with a steady state.
type Rounds struct {
	// Each holds one sample a round; its At is the round's end, counted from the beginning of the first. Lat sums up
	// response times in an open loop, else latencies.
	Each []load.Sample `json:"each"`
	// From and To are the rounds that the result covers: [From, To).
	From int `json:"from"`
	To   int `json:"to"`
}

// start is when round n began.
func (r *Rounds) start(n int) time.Duration {
	if n <= 0 || n > len(r.Each) {
		return 0
	}
	return r.Each[n-1].At
}

// Sound reports whether r is possible: its window lies within its rounds.
func (r *Rounds) Sound() bool { return r.From >= 0 && r.From <= r.To && r.To <= len(r.Each) }

// Worked is how long r was measured, with all rounds that don't count: Elapsed for a job without a steady state.
func (r *Result) Worked() time.Duration {
	if r.Rounds == nil || len(r.Rounds.Each) == 0 {
		return r.Elapsed
	}
	return max(r.Elapsed, r.Rounds.start(len(r.Rounds.Each)))
}

// rounds are some rounds of a client; begin is when the first of them began.
type rounds struct {
	begin time.Duration
	each  []load.Sample
}

// seriesOf adds up several clients round by round. Rounds of the same number count as one, since the clients started
// together. unit is that of a Metric.
func seriesOf(clients []rounds, unit string) steady.Series {
	n := -1
	for _, c := range clients {
		if n < 0 || len(c.each) < n {
			n = len(c.each)
		}
	}
	s := steady.Series{Throughput: make([]float64, max(n, 0)), Latency: make([]float64, max(n, 0))}
	for k := range s.Throughput {
		var lat, ops float64
		for _, c := range clients {
			from := c.begin
			if k > 0 {
				from = c.each[k-1].At
			}
			e := c.each[k]
			amount := float64(e.Ops)
			if unit == "B/s" {
				amount = float64(e.Bytes)
			}
			if d := (e.At - from).Seconds(); d > 0 {
				s.Throughput[k] += amount / d
			}
			lat, ops = lat+float64(e.Lat), ops+float64(e.Ops)
		}
		if ops > 0 {
			s.Latency[k] = lat / ops
		}
	}
	return s
}

// SteadyFrom looks for the first steady window of several clients together, round by round, and returns the number of its
// first round. unit is that of the workload's Metric.
func SteadyFrom(clients [][]load.Sample, unit string) (from int, ok bool) {
	all := make([]rounds, len(clients))
	for i, c := range clients {
		all[i].each = c
	}
	f := steady.Find(seriesOf(all, unit))
	return f.From, f.Steady
}

// Steadiness judges the rounds that count of a trial. After is when the first client's window began. ok is false for a
// trial without a steady state.
func Steadiness(results []Result, m Metric) (f steady.Finding, ok bool) {
	var all []rounds
	for i := range results {
		r := results[i].Rounds
		if r == nil || !r.Sound() {
			return steady.Finding{}, false
		}
		all = append(all, rounds{r.start(r.From), r.Each[r.From:r.To]})
	}
	if len(all) == 0 {
		return steady.Finding{}, false
	}
	s := seriesOf(all, m.Unit)
	first := results[0].Rounds
	f = steady.Finding{
		From: first.From, To: first.To, After: first.start(first.From),
		Throughput: steady.Judge(s.Throughput), Latency: steady.Judge(s.Latency),
	}
	f.Steady = len(s.Throughput) >= steady.WindowRounds && f.Throughput.Steady() && f.Latency.Steady()
	return f, true
}

// RoundsOf is the common rate of several clients over time, in all their rounds, also those that don't count. A round is
// taken to be as long as the first client's are on average. A trial without a steady state has none.
func RoundsOf(results []Result, unit string) Course {
	var all []rounds
	for i := range results {
		if results[i].Rounds == nil {
			return Course{}
		}
		all = append(all, rounds{each: results[i].Rounds.Each})
	}
	c := Course{Rates: seriesOf(all, unit).Throughput}
	if n := len(c.Rates); n > 0 {
		c.Step = results[0].Rounds.start(n) / time.Duration(n)
	}
	return c
}

// keptRounds is how many rounds' histograms and counters are kept: the window's, and those that end before an outside judge
// of several clients has said that it was steady.
const keptRounds = 64

// A roundKeeper follows the rounds of a job, ends it when it is steady, and makes the result of the rounds that count.
type roundKeeper struct {
	unit string
	end  func()            // ends the job
	tell func(load.Sample) // if not nil, its receiver judges

	mu     sync.Mutex
	each   []load.Sample
	kept   []load.Round // the last keptRounds
	edges  []snapshot   // the counters: edges[i] is at the beginning of kept[i], the last one at the end of the last round
	from   int          // the first round that counts
	chosen bool
}

// window is load.Run's OnWindow.
func (k *roundKeeper) window(begin bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if begin {
		k.edges = k.edges[:0] // Only the last reading counts.
	}
	k.edges = append(k.edges, takeSnapshot(begin))
}

// turn is load.Run's OnTurn. Threads go on meanwhile: the byte counters are read last, right before the round ends.
func (k *roundKeeper) turn(int) {
	s := takeSnapshot(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.edges = append(k.edges, s)
}

// round is load.Run's OnRound.
func (k *roundKeeper) round(o load.Round) {
	s := sampleOf(o)
	if k.keep(o, s) && k.tell != nil {
		k.tell(s) // Not under the lock: the receiver may be slow.
	}
}

// sampleOf is the sample of a round.
func sampleOf(o load.Round) load.Sample {
	s := load.Sample{At: o.To}
	for _, c := range o.Classes {
		if c.Name == "sync" {
			continue
		}
		lat := c.Lat
		if c.Response != nil {
			lat = c.Response
		}
		s.Ops, s.Bytes, s.Lat = s.Ops+c.Ops, s.Bytes+c.Bytes, s.Lat+time.Duration(lat.Sum())
	}
	return s
}

// keep adds a round, and judges if no receiver does. It reports whether the job goes on.
func (k *roundKeeper) keep(o load.Round, s load.Sample) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.each, k.kept = append(k.each, s), append(k.kept, o)
	if len(k.kept) > keptRounds {
		k.kept, k.edges = k.kept[1:], k.edges[1:]
	}
	if k.tell == nil && !k.chosen {
		if from, ok := SteadyFrom([][]load.Sample{k.each}, k.unit); ok {
			k.from, k.chosen = from, true
			k.end()
		}
	}
	return !k.chosen
}

// finish ends the job. Its result is the window of rounds that begins with number from.
func (k *roundKeeper) finish(from int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.chosen {
		k.from, k.chosen = from, true
		k.end()
	}
}

// fill makes r the result of the rounds that count. l is that of the whole run.
func (k *roundKeeper) fill(r *Result, l *load.Result) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.each)
	switch {
	case n == 0 && r.AtLeast() > 0:
		k.first(r)
		return nil
	case n == 0:
		return fmt.Errorf("no round was over when the job ended")
	}
	to := n
	if k.chosen {
		to = k.from + steady.WindowRounds
	} else {
		k.from = max(n-steady.WindowRounds, 0)
	}
	first := n - len(k.kept) // the number of kept[0]
	if k.from < first || to > n || k.from >= to {
		return fmt.Errorf("rounds %d to %d are not kept: only the last %[4]d of %[3]d rounds are", k.from+1, to, n, len(k.kept))
	}
	r.Rounds = &Rounds{Each: k.each, From: k.from, To: to}
	a, b := k.from-first, to-first
	r.between(k.edges[a], k.edges[b])
	window := k.kept[a:b]
	last := window[len(window)-1]
	r.Start, r.Elapsed, r.WallElapsed = window[0].Start, last.To-window[0].From, 0
	r.Classes, r.Late, r.MaxLate = nil, 0, 0
	for _, o := range window {
		r.WallElapsed += o.WallElapsed
		r.Late, r.MaxLate = r.Late+o.Late, max(r.MaxLate, o.MaxLate)
		for _, c := range o.Classes {
			r.add(c)
		}
	}
	if r.Drained = 0; r.InFlight() > 0 {
		r.Drained = l.Drained // The last of them ended with the job.
	}
	for _, o := range k.kept[b:] {
		r.cross(o.Crossings, last.To)
	}
	r.cross(l.Crossings, last.To)
	r.Missed = last.Behind
	if a > 0 {
		r.Missed = max(last.Behind-k.kept[a-1].Behind, 0)
	}
	r.Samples = within(l.Samples, window[0].From, last.To)
	return nil
}

// first makes r, which covers the whole run, the result of its first round, which is not over because the storage hangs.
func (k *roundKeeper) first(r *Result) {
	r.Rounds = &Rounds{Each: []load.Sample{sampleOf(load.Round{To: r.Elapsed, Classes: r.Classes})}, To: 1}
	r.between(k.edges[0], k.edges[len(k.edges)-1])
}

// cross adds to r the operations that were in flight when its window ended, at end by the time of the run.
func (r *Result) cross(all []load.Crossing, end time.Duration) {
	for _, o := range all {
		if o.Start > end {
			continue
		}
		one := load.Class{Name: o.Class, InFlight: 1, Lat: new(hist.Histogram)}
		one.Lat.Record(int64(o.Lat))
		if o.Response > 0 {
			one.Response = new(hist.Histogram)
			one.Response.Record(int64(o.Response))
		}
		if o.AtLeast {
			one.AtLeast = 1
		}
		r.add(one)
		r.Drained = max(r.Drained, o.Start+o.Lat-end)
	}
}

// within returns the samples between from and to, with times relative to from.
func within(samples []load.Sample, from, to time.Duration) []load.Sample {
	var out []load.Sample
	for _, s := range samples {
		if s.At > from && s.At <= to {
			s.At -= from
			out = append(out, s)
		}
	}
	return out
}
