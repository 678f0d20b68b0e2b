package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/hist"
)

// roundsOf runs a job and returns its rounds with the result.
func roundsOf(t *testing.T, r *Run) ([]Round, *Result) {
	t.Helper()
	var all []Round
	r.OnRound = func(o Round) { all = append(all, o) }
	res, err := r.Start(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return all, res
}

// wantWhole fails unless the rounds follow one another and hold all of res, each I/O once. A busy machine may leave a rest of less
// than half a round.
func wantWhole(t *testing.T, round time.Duration, rounds []Round, res *Result) {
	t.Helper()
	sums := map[string]*Class{}
	var late int64
	var maxLate, end, wall time.Duration
	for i, o := range rounds {
		if o.Number != i || o.From != end || o.To <= o.From {
			t.Errorf("round %d is number %d, from %v to %v; the one before ended at %v", i, o.Number, o.From, o.To, end)
		}
		end, wall = o.To, wall+o.WallElapsed
		late, maxLate = late+o.Late, max(maxLate, o.MaxLate)
		for _, c := range o.Classes {
			if c.Lat.Count() != uint64(c.Ops+c.InFlight) {
				t.Errorf("round %d: %d of %s with the latencies of %d", i, c.Ops, c.Name, c.Lat.Count())
			}
			if sums[c.Name] == nil {
				sums[c.Name] = &Class{}
			}
			sums[c.Name].Merge(c)
		}
	}
	if end > res.Elapsed-round/2 && end < res.Elapsed {
		t.Logf("a rest of %v is no round", res.Elapsed-end)
		return
	}
	if end != res.Elapsed || wall != res.WallElapsed {
		t.Errorf("the rounds end at %v (%v by the wall clock), the window at %v (%v)", end, wall, res.Elapsed, res.WallElapsed)
	}
	if late != res.Late || maxLate != res.MaxLate {
		t.Errorf("%d late by up to %v in the rounds, %d by up to %v in the result", late, maxLate, res.Late, res.MaxLate)
	}
	for _, c := range res.Classes {
		s := sums[c.Name]
		if s == nil {
			t.Errorf("%s: in no round", c.Name)
			continue
		}
		if got, want := [2]int64{s.Ops, s.Bytes}, [2]int64{c.Ops, c.Bytes}; got != want {
			t.Errorf("%s: the rounds hold I/Os and bytes %d, the result %d", c.Name, got, want)
		}
		if !s.Lat.Equal(c.Lat) {
			t.Errorf("%s: the rounds hold %d latencies, the result %d, or they differ", c.Name, s.Lat.Count(), c.Lat.Count())
		}
		if !s.Response.Equal(c.Response) {
			t.Errorf("%s: the response times in the rounds are not the result's", c.Name)
		}
	}
}

// TestRoundsHoldAllOfTheWindow: with each engine, several threads, syncs, and in an open loop.
func TestRoundsHoldAllOfTheWindow(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range append(realEngines(), Null) {
		if engine != Null {
			needEngine(t, engine)
		}
		for name, j := range map[string]Job{
			"closed": {RW: RandRW, IODepth: 3, NumJobs: 2},
			"open":   {RW: RandRead, IODepth: 2, NumJobs: 2, RateIOPS: 2000},
			"syncs":  {RW: Write, IODepth: 2, Fsync: 16},
		} {
			j.Size, j.Runtime, j.Round, j.IOEngine = 1<<20, 400*time.Millisecond, 50*time.Millisecond, engine
			j.RampTime = 10 * time.Millisecond
			if engine != Null {
				j.Filename = path
			}
			rounds, res := roundsOf(t, prepare(t, j))
			if n := len(rounds); n < 1 || n > 8 {
				t.Errorf("%s, %s: %d rounds of 50 ms in 400 ms", engine, name, n)
			}
			wantWhole(t, j.Round, rounds, res)
			wantSampled(t, rounds, res)
		}
	}
}

// wantSampled fails unless there is a sample at the end of each round, and the samples up to it add up to the rounds.
func wantSampled(t *testing.T, rounds []Round, res *Result) {
	t.Helper()
	var ops, bytes, want, wantBytes int64
	i := 0
	for _, s := range res.Samples {
		if s.Ops < 0 || s.Bytes < 0 || s.Lat < 0 {
			t.Errorf("a sample of %d I/Os and %d bytes", s.Ops, s.Bytes)
		}
		ops, bytes = ops+s.Ops, bytes+s.Bytes
		if i == len(rounds) || s.At != rounds[i].To {
			continue
		}
		for _, c := range rounds[i].Classes {
			if c.Name != opNames[opSync] {
				want, wantBytes = want+c.Ops, wantBytes+c.Bytes
			}
		}
		if ops != want || bytes != wantBytes {
			t.Errorf("up to round %d the samples hold %d I/Os of %d bytes, the rounds %d of %d", i, ops, bytes, want, wantBytes)
		}
		i++
	}
	// The last round ends with the window, and so may the one before it, if a thread finished it that late.
	if i < len(rounds)-2 {
		t.Errorf("%d of %d rounds end with a sample", i, len(rounds))
	}
}

// TestRoundWaitsForAThread: if a thread does nothing for several rounds, its counts are not lost, and the round is longer instead.
func TestRoundWaitsForAThread(t *testing.T) {
	const stuck = 200 * time.Millisecond
	r := prepare(t, Job{RW: Write, NumJobs: 2, Filename: written(t, 1<<20), Fsync: 1, Runtime: 600 * time.Millisecond, Round: 50 * time.Millisecond, IOEngine: PSync})
	first := true
	r.OnSync = func(thread int, _ int64) {
		if thread == 0 && first {
			first = false
			time.Sleep(stuck)
		}
	}
	rounds, res := roundsOf(t, r)
	wantWhole(t, r.job.Round, rounds, res)
	longest := time.Duration(0)
	for _, o := range rounds {
		longest = max(longest, o.To-o.From)
	}
	// It may have begun to hang up to one round before the first ended.
	if longest < stuck-60*time.Millisecond {
		t.Errorf("the longest round has %v, but a thread was stuck for %v", longest, stuck)
	}
}

// TestRoundsOfAHang: while one thread hangs before the end of a round, the other thread's I/Os of that round are in the result.
func TestRoundsOfAHang(t *testing.T) {
	t.Parallel()
	r := prepare(t, Job{RW: Write, NumJobs: 2, Filename: written(t, 1<<20), Fsync: 1, Runtime: 300 * time.Millisecond, Round: 100 * time.Millisecond, IOEngine: PSync})
	told := make(chan struct{})
	var turned atomic.Bool
	r.OnTurn = func(int) { turned.Store(true) }
	r.OnSync = func(number int, _ int64) {
		if th := r.threads[number]; number == 0 && turned.Load() {
			th.syncing = r.clk.now() // A sync that does not end, as other threads see it.
			th.waits(true)
			<-told
			th.waits(false)
			th.syncing = 0
		}
	}
	var hung *Result
	r.OnHang = func(res *Result) {
		if hung == nil {
			hung = res
			close(told)
		}
	}
	_, res := roundsOf(t, r)
	if hung == nil {
		t.Fatal("no hang was reported")
	}
	var samples int64
	for _, s := range hung.Samples {
		if s.Ops < 0 || s.Bytes < 0 || s.Lat < 0 {
			t.Errorf("a sample of %d I/Os, %d bytes and %v", s.Ops, s.Bytes, s.Lat)
		}
		samples += s.Ops
	}
	if n := hung.Ops(); n == 0 || n != samples || n != res.Ops() {
		t.Errorf("%d I/Os, %d in the samples; in the end there were %d", n, samples, res.Ops())
	}
}

// TestRoundsEndTheRun: OnRound may end the run; later I/Os are in no reported round.
func TestRoundsEndTheRun(t *testing.T) {
	r := prepare(t, Job{RW: RandRead, Size: 1 << 20, Runtime: time.Hour, Round: 50 * time.Millisecond, IOEngine: Null})
	turns := 0
	r.OnTurn = func(number int) {
		if number != turns {
			t.Errorf("turn %d is of round %d", turns, number)
		}
		turns++
	}
	var told []Round
	r.OnRound = func(o Round) {
		told = append(told, o)
		if o.Number == 2 {
			r.End()
		}
	}
	res, err := r.Start(context.Background(), nil)
	if err != nil || res.Elapsed > time.Minute {
		t.Fatalf("%v, %v", res.Elapsed, err)
	}
	if len(told) < 3 || len(told) > 4 || turns != 3 {
		t.Errorf("%d rounds and %d turns, want 3, and perhaps a rest that was long enough", len(told), turns)
	}
	var in hist.Histogram
	for _, o := range told {
		in.Merge(o.Classes[0].Lat)
	}
	if all := res.Class("read").Lat.Count(); in.Count() == 0 || in.Count() > all {
		t.Errorf("%d I/Os in the rounds, %d in all", in.Count(), all)
	}
}

// TestRoundsOfAnOverload: I/Os that an open loop can't start are behind, more in each round.
func TestRoundsOfAnOverload(t *testing.T) {
	for _, process := range []string{Linear, Poisson} {
		const rate = 1000
		// Each I/O is followed by a pause of 10 ms, so that 100 a second are done.
		j := Job{RW: RandRead, Size: 1 << 20, Runtime: 500 * time.Millisecond, Round: 100 * time.Millisecond, IOEngine: Null, RateIOPS: rate, RateProcess: process, ThinkTime: 10 * time.Millisecond}
		rounds, res := roundsOf(t, prepare(t, j))
		wantWhole(t, j.Round, rounds, res)
		for i, o := range rounds {
			// Before a round's end rate*o.To I/Os were due.
			due, done := rate*o.To.Seconds(), int64(0)
			for _, p := range rounds[:i+1] {
				done += p.Classes[0].Ops
			}
			if got := float64(o.Behind + done); got < 0.5*due || got > 1.5*due+20 {
				t.Errorf("%s, round %d: %d behind and %d done, but about %.0f were due", process, i, o.Behind, done, due)
			}
		}
		if n := len(rounds); n > 1 && rounds[n-1].Behind <= rounds[0].Behind {
			t.Errorf("%s: %d behind after the first round, %d after the last", process, rounds[0].Behind, rounds[n-1].Behind)
		}
	}
}

func TestRoundsAreRefusedWithWhatEndsTheJobOtherwise(t *testing.T) {
	good := Job{RW: Write, Size: 1 << 20, Runtime: time.Second, Round: 100 * time.Millisecond, IOEngine: Null}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Job){
		"too short":    func(j *Job) { j.Round = leastRound - 1 },
		"negative":     func(j *Job) { j.Round = -1 },
		"no runtime":   func(j *Job) { j.Runtime = 0 },
		"too long":     func(j *Job) { j.Round = 2 * time.Second },
		"end_fsync":    func(j *Job) { j.EndFsync = true },
		"number_ios":   func(j *Job) { j.NumberIOs = 10 },
		"io_size":      func(j *Job) { j.IOSize = 1 << 20 },
		"cooldown":     func(j *Job) { j.CoolDown = time.Second },
		"per_job":      func(j *Job) { j.PerJob = true },
		"sample_every": func(j *Job) { j.SampleEvery = time.Second },
	} {
		j := good
		change(&j)
		if err := j.Validate(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
