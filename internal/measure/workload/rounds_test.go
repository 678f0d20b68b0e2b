package workload

import (
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/steady"
	"plimsoll/load"
)

// perRound are samples of rounds of a second with so many I/Os of 4 KiB, each of which took a microsecond.
func perRound(ops ...int64) []load.Sample {
	var out []load.Sample
	for i, n := range ops {
		out = append(out, load.Sample{At: time.Duration(i+1) * time.Second, Ops: n, Bytes: 4096 * n, Lat: time.Duration(n) * time.Microsecond})
	}
	return out
}

func TestSteadyFrom(t *testing.T) {
	flat, fall := []int64{100, 101, 99, 100, 100}, []int64{900, 700, 500, 300, 200}
	for _, row := range []struct {
		name    string
		clients [][]load.Sample
		from    int
		ok      bool
	}{
		{"nobody", nil, 0, false},
		{"too few", [][]load.Sample{perRound(flat[:4]...)}, 0, false},
		{"from the start", [][]load.Sample{perRound(flat...)}, 0, true},
		{"later", [][]load.Sample{perRound(append(fall, flat...)...)}, 5, true},
		{"never", [][]load.Sample{perRound(fall...)}, 0, false},
		{"one of two falls", [][]load.Sample{perRound(flat...), perRound(fall...)}, 0, false},
		// One gains what the other loses: the place is steady, and they share it.
		{"together", [][]load.Sample{perRound(100, 120, 140, 160, 180), perRound(180, 160, 140, 120, 100)}, 0, true},
		{"one is behind", [][]load.Sample{perRound(flat...), perRound(flat[:4]...)}, 0, false},
		{"nothing done", [][]load.Sample{perRound(0, 0, 0, 0, 0)}, 0, false},
	} {
		if from, ok := SteadyFrom(row.clients, "1/s"); ok != row.ok || ok && from != row.from {
			t.Errorf("%s: SteadyFrom = %d, %v, want %d, %v", row.name, from, ok, row.from, row.ok)
		}
	}
	slower := perRound(flat...)
	for i := range slower {
		slower[i].Lat *= time.Duration(1 + i)
	}
	if _, ok := SteadyFrom([][]load.Sample{slower}, "1/s"); ok {
		t.Error("steady, although the latency grows")
	}
	larger := perRound(flat...)
	for i := range larger {
		larger[i].Bytes *= int64(1 + i)
	}
	if _, ok := SteadyFrom([][]load.Sample{larger}, "B/s"); ok {
		t.Error("steady, although the bandwidth grows")
	}
	// A round that took twice as long has twice the I/Os.
	late := perRound(100, 100, 200, 100, 100)
	for i := range late[2:] {
		late[2+i].At += time.Second
	}
	if _, ok := SteadyFrom([][]load.Sample{late}, "1/s"); !ok {
		t.Error("not steady, although the rate is the same in a longer round")
	}
}

func TestSteadinessIsOfTheRoundsThatCount(t *testing.T) {
	iops := Metric{"IOPS", "1/s"}
	each := perRound(900, 700, 500, 100, 101, 99, 100, 100)
	result := func(from, to int) Result { return Result{Rounds: &Rounds{Each: each, From: from, To: to}} }
	f, ok := Steadiness([]Result{result(3, 8)}, iops)
	if !ok || !f.Steady || f.After != 3*time.Second {
		t.Errorf("Steadiness = %+v, %v; want it steady after 3 s", f, ok)
	}
	for what, m := range map[string][2]float64{"throughput": {f.Throughput.Mean, 100}, "latency": {f.Latency.Mean, 1000}} {
		if math.Abs(m[0]-m[1]) > 1e-9 {
			t.Errorf("the mean %s is %v, want %v", what, m[0], m[1])
		}
	}
	if f, ok := Steadiness([]Result{result(2, 7)}, iops); !ok || f.Steady || f.Throughput.Range < 0.2 {
		t.Errorf("Steadiness of a window with the end of the fall = %+v, %v", f, ok)
	}
	if f, ok := Steadiness([]Result{result(4, 8)}, iops); !ok || f.Steady {
		t.Errorf("Steadiness of four rounds = %+v, %v", f, ok)
	}
	for _, bad := range []Result{{}, result(-1, 4), result(5, 4), result(4, 9)} {
		if _, ok := Steadiness([]Result{bad}, iops); ok {
			t.Errorf("%+v has a steadiness", bad.Rounds)
		}
	}
	if _, ok := Steadiness(nil, iops); ok {
		t.Error("no results have a steadiness")
	}
}

// keeperOf has the rounds of a second with so many reads, of one microsecond in round 0, two in round 1, and so on.
func keeperOf(ops ...int64) *roundKeeper {
	k := &roundKeeper{unit: "1/s", end: func() {}, tell: func(load.Sample) {}}
	at := time.Unix(1000, 0)
	k.edges = append(k.edges, snapshot{proc: map[string]int64{"read_bytes": 0}})
	moved := int64(0)
	for i, n := range ops {
		var h hist.Histogram
		h.RecordN(int64(1000*(i+1)), uint64(n))
		moved += 4096 * n
		k.edges = append(k.edges, snapshot{proc: map[string]int64{"read_bytes": moved}})
		k.round(load.Round{
			Number: i, From: time.Duration(i) * time.Second, To: time.Duration(i+1) * time.Second, Start: at, WallElapsed: time.Second,
			Classes: []load.Class{{Name: "read", Ops: n, Bytes: 4096 * n, Lat: &h}}, Late: int64(i), MaxLate: time.Duration(i), Behind: int64(10 * i),
		})
		at = at.Add(time.Second)
	}
	return k
}

// TestOnlyTheChosenRoundsCount: in every figure.
func TestOnlyTheChosenRoundsCount(t *testing.T) {
	k := keeperOf(900, 700, 100, 101, 99, 100, 100, 500)
	k.finish(2)
	k.finish(0) // It is decided.
	var r Result
	samples := []load.Sample{{At: 500 * time.Millisecond, Ops: 450}, {At: 2 * time.Second, Ops: 1150}, {At: 3 * time.Second, Ops: 100}, {At: 7 * time.Second, Ops: 400}, {At: 8 * time.Second, Ops: 500}}
	if err := k.fill(&r, &load.Result{Samples: samples}); err != nil {
		t.Fatal(err)
	}
	c := r.Classes[0]
	got := [...]int64{r.Ops(), c.Bytes, int64(c.Lat.Count()), c.Lat.Min(), c.Lat.Max()}
	if want := [...]int64{500, 500 * 4096, 500, 3000, 7000}; got != want {
		t.Errorf("I/Os, bytes, latencies, the least and the most are %d, want %d", got, want)
	}
	took := [...]time.Duration{r.Elapsed, r.WallElapsed, r.Worked()}
	if want := [...]time.Duration{5 * time.Second, 5 * time.Second, 8 * time.Second}; took != want {
		t.Errorf("the window, by the wall clock, and the work took %v, want %v", took, want)
	}
	if want := time.Unix(1002, 0); !r.Start.Equal(want) {
		t.Errorf("the window starts at %v, want %v", r.Start, want)
	}
	if r.ProcRead != 500*4096 {
		t.Errorf("the process read %d", r.ProcRead)
	}
	if r.Late != 2+3+4+5+6 || r.MaxLate != 6 || r.Missed != 60-10 {
		t.Errorf("%d late by up to %d, %d missed", r.Late, r.MaxLate, r.Missed)
	}
	if len(r.Samples) != 2 || r.Samples[0] != (load.Sample{At: time.Second, Ops: 100}) || r.Samples[1] != (load.Sample{At: 5 * time.Second, Ops: 400}) {
		t.Errorf("samples %+v", r.Samples)
	}
	if r.Rounds.From != 2 || r.Rounds.To != 7 || len(r.Rounds.Each) != 8 {
		t.Errorf("rounds %+v", r.Rounds)
	}
}

func TestNeverSteadyLeavesTheLastRounds(t *testing.T) {
	var r Result
	if err := keeperOf(64, 32, 16, 8, 4, 2, 1).fill(&r, new(load.Result)); err != nil {
		t.Fatal(err)
	}
	got := [...]int64{r.Ops(), int64(r.Rounds.From), int64(r.Rounds.To)}
	if want := [...]int64{16 + 8 + 4 + 2 + 1, 2, 7}; got != want {
		t.Errorf("I/Os, the first round and the end are %d, want %d", got, want)
	}
	// Fewer than a window has, as rounds of a stuck thread get longer.
	if err := keeperOf(64, 32).fill(&r, new(load.Result)); err != nil || r.Ops() != 96 || r.Rounds.To != 2 {
		t.Errorf("%d I/Os of rounds %+v, %v", r.Ops(), r.Rounds, err)
	}
	if err := keeperOf().fill(&r, new(load.Result)); err == nil {
		t.Error("a result of no round")
	}
}

// TestAChoiceThatCameTooLate: rounds are kept for a while only.
func TestAChoiceThatCameTooLate(t *testing.T) {
	ops := make([]int64, keptRounds+10)
	for i := range ops {
		ops[i] = int64(i)
	}
	for _, row := range []struct {
		from int
		want int64 // -1: an error
	}{{9, -1}, {10, 10 + 11 + 12 + 13 + 14}, {keptRounds + 5, 5*keptRounds + 35}, {keptRounds + 6, -1}, {-1, -1}} {
		k, r := keeperOf(ops...), Result{}
		k.finish(row.from)
		err := k.fill(&r, new(load.Result))
		if row.want < 0 {
			if err == nil || !strings.Contains(err.Error(), "not kept") {
				t.Errorf("from %d: %v, want that they are not kept", row.from, err)
			}
			continue
		}
		if err != nil || r.Ops() != row.want {
			t.Errorf("from %d: %d I/Os, %v; want %d", row.from, r.Ops(), err, row.want)
		}
	}
}

// TestKeeperEndsASteadyJob: a keeper without a receiver ends a steady job itself.
func TestKeeperEndsASteadyJob(t *testing.T) {
	k := keeperOf(900, 700, 500)
	ended := 0
	k.tell, k.end = nil, func() { ended++ }
	for _, o := range keeperOf(0, 0, 0, 100, 100, 101, 100, 99, 100).kept[3:] {
		o.Classes[0].Lat = new(hist.Histogram)
		o.Classes[0].Lat.RecordN(1000, uint64(o.Classes[0].Ops))
		k.round(o)
		if want := map[bool]int{true: 1}[o.Number >= 7]; ended != want {
			t.Errorf("after round %d it was ended %d times, want %d", o.Number, ended, want)
		}
	}
	if k.from != 3 {
		t.Errorf("it was steady from round %d on, want 3", k.from)
	}
}

// TestJobWithRounds: others judge a job that would go on for an hour, and its result is of the rounds that they say.
func TestJobWithRounds(t *testing.T) {
	const round, from = 100 * time.Millisecond, 2
	spec := Spec{Kind: Block, Job: load.Job{RW: load.RandRead, Size: 1 << 20, Runtime: time.Hour, RateIOPS: 2000, IODepth: 4, IOEngine: load.Null}, Steady: SteadyState{Round: round}}
	run, err := Prepare(t.Context(), spec, Folders{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	var told []load.Sample
	judged := run.(Judged)
	judged.OnRound(func(s load.Sample) {
		if told = append(told, s); len(told) == from+steady.WindowRounds+1 {
			judged.Finish(from)
		}
	})
	var last time.Duration
	r, err := run.Run(t.Context(), func(s load.Sample) { last = s.At })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := [2]int{r.Rounds.From, r.Rounds.To}, [2]int{from, from + steady.WindowRounds}; got != want {
		t.Errorf("rounds %d count, want %d", got, want)
	}
	if r.Elapsed < 4*round || last < r.Elapsed {
		t.Errorf("%v of %v count, want at least %v", r.Elapsed, last, 4*round)
	}
	var ops int64
	for i, s := range r.Rounds.Each[from:r.Rounds.To] {
		ops += s.Ops
		if s != told[from+i] {
			t.Errorf("round %d is %+v, and %+v was told", from+i, s, told[from+i])
		}
	}
	c := r.Classes[0]
	if ops == 0 || ops != c.Ops {
		t.Errorf("%d I/Os in the rounds, %d in the class", ops, c.Ops)
	}
	for what, h := range map[string]*hist.Histogram{"latencies": c.Lat, "response times": c.Response} {
		if n := ops + c.InFlight; h.Count() != uint64(n) {
			t.Errorf("%d %s, want %d", h.Count(), what, n)
		}
	}
	ops = 0
	for _, s := range r.Samples {
		ops += s.Ops
		if s.At > r.Elapsed {
			t.Errorf("a sample at %v of %v", s.At, r.Elapsed)
		}
	}
	if ops != c.Ops {
		t.Errorf("%d I/Os in the samples, %d in the class", ops, c.Ops)
	}
}

func TestValidateSteadyState(t *testing.T) {
	spec := Spec{Job: load.Job{RW: load.RandRead, Size: 1 << 20, Runtime: time.Second}, Steady: SteadyState{Round: 200 * time.Millisecond}}
	if err := spec.Validate(); err != nil {
		t.Error(err)
	}
	spec.Steady.Round++
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "longer than runtime") {
		t.Errorf("five rounds that are longer than the runtime: %v", err)
	}
	spec.Steady.Round = time.Millisecond
	if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), "round") {
		t.Errorf("a round of a millisecond: %v", err)
	}
}
