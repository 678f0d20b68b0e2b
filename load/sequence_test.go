package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// places returns the operations and offsets of n I/Os of the job's first thread.
func places(t *testing.T, j Job, lane, n int) (ops []uint8, offs []int64) {
	t.Helper()
	if err := j.Validate(); err != nil {
		t.Fatal(err)
	}
	j = j.WithDefaults()
	l := newLanes(j, j.Size, false)[lane]
	g := l.generator(j, lane)
	var sl slot
	for range n {
		g.next(&sl)
		ops, offs = append(ops, sl.op), append(offs, sl.off)
	}
	return ops, offs
}

func TestReadsAndWritesAreOneSequence(t *testing.T) {
	j := Job{RW: RW, BS: 4096, Size: 1 << 20, Runtime: 1, IOEngine: Null, OneSequence: true}
	ops, offs := places(t, j, 0, 600)
	writes := 0
	for i, o := range offs {
		if want := int64(i) * 4096 % (1 << 20); o != want {
			t.Fatalf("I/O %d is at %d, want %d", i, o, want)
		}
		writes += int(ops[i])
	}
	if writes < 200 || writes > 400 {
		t.Errorf("%d of 600 I/Os are writes, want about half", writes)
	}
	j.OneSequence = false
	if _, offs := places(t, j, 0, 600); offs[599] == 599*4096%(1<<20) {
		t.Error("without OneSequence reads and writes walk together too")
	}
}

func TestRunsInSequenceAreOfOneKind(t *testing.T) {
	share := 20
	j := Job{RW: RandRW, BS: 4096, Size: 1 << 30, Runtime: 1, IOEngine: Null, OneSequence: true, PercentageRandom: &share}
	ops, offs := places(t, j, 0, 5000)
	jumps, writes := 0, int(ops[0])
	for i := 1; i < len(offs); i++ {
		writes += int(ops[i])
		if offs[i] != offs[i-1]+4096 {
			jumps++
		} else if ops[i] != ops[i-1] {
			t.Fatalf("I/O %d follows the one before it, but is of another kind", i)
		}
	}
	if offs[0] == 0 {
		t.Error("the first offset is 0")
	}
	if jumps < 850 || jumps > 1150 {
		t.Errorf("%d of 5000 at a random offset, want about 1000", jumps)
	}
	if writes < 2000 || writes > 3000 {
		t.Errorf("%d of 5000 are writes, want about 2500", writes)
	}
	j = Job{RW: RandWrite, BS: 4096, Size: 1 << 30, Runtime: 1, IOEngine: Null, OneSequence: true, PercentageRandom: &share}
	ops, _ = places(t, j, 0, 100)
	for i, o := range ops {
		if o != opWrite {
			t.Fatalf("I/O %d of a job of writes is a read", i)
		}
	}
}

func TestStartIncrementMovesTheStartOnly(t *testing.T) {
	j := Job{RW: Read, BS: 4096, Offset: 8192, Size: 64 << 10, NumJobs: 3, Runtime: 1, IOEngine: Null, WholeRegion: true, StartIncrement: 24 << 10}
	for lane := range 3 {
		_, offs := places(t, j, lane, 40)
		for i, o := range offs {
			at := int64(lane)*24<<10 + int64(i)*4096
			if at >= 64<<10 {
				at = (at - 64<<10) % (64 << 10)
			}
			if o != 8192+at {
				t.Fatalf("job %d: I/O %d is at %d, want %d", lane, i, o, 8192+at)
			}
		}
	}
	bad := j
	bad.StartIncrement = 32 << 10
	if _, err := Prepare(bad); err == nil {
		t.Error("a start beyond the region is accepted")
	}
	bad = j
	bad.WholeRegion = false
	var opt *OptionError
	if err := bad.Validate(); !errors.As(err, &opt) || opt.Option != "start_increment" {
		t.Errorf("start_increment without whole_region: %v", err)
	}
}

// TestVerifyFromStartsApart: what jobs that start apart verify is stamped in units that start where they do.
func TestVerifyFromStartsApart(t *testing.T) {
	j := Job{
		RW: Write, BS: 4096, Size: 64 << 10, NumJobs: 2, Filename: written(t, 64<<10), IOEngine: PSync, WholeRegion: true,
		Verify: true, RandSeed: 3, Loops: 2,
	}
	for inc, want := range map[int64]int64{4096: 4096, 8192: 4096, 1536: 512, 2048: 2048} {
		j.StartIncrement = inc
		if got := j.VerifyUnit(); got != want {
			t.Errorf("start_increment=%d: VerifyUnit() = %d, want %d", inc, got, want)
		}
		w := j
		start(t, w)
		w.RW = Read
		start(t, w)
	}
	j.StartIncrement = 1000
	var opt *OptionError
	if err := j.Validate(); !errors.As(err, &opt) || opt.Option != "verify" {
		t.Errorf("start_increment=1000: %v, want a refusal of verify", err)
	}
}

func TestCoolDownGoesOnUncounted(t *testing.T) {
	for _, engine := range []string{PSync, IOUring, Null} {
		j := Job{RW: RandRead, BS: 4096, Size: 1 << 20, Runtime: 100 * time.Millisecond, CoolDown: 300 * time.Millisecond, RateIOPS: 1000, IOEngine: engine}
		if engine != Null {
			j.Filename = written(t, 1<<20)
		}
		r, err := Prepare(j)
		var missing *EngineError
		if errors.As(err, &missing) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		res, err := r.Start(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d < 400*time.Millisecond {
			t.Errorf("%s: ended after %v, want 400 ms", engine, d)
		}
		// The schedule has 101 in the window and 300 after it.
		if n := res.Ops(); n > 110 || res.Elapsed != 100*time.Millisecond || res.InFlight() > 1 {
			t.Errorf("%s: %d I/Os in %v, %d unfinished; want those of the window", engine, n, res.Elapsed, res.InFlight())
		}
		if started := r.threads[0].acct.started; started < 200 {
			t.Errorf("%s: only %d I/Os were done, want those of the cool-down too", engine, started)
		}
		r.Close()
	}
}

func TestSamplesOfEachJob(t *testing.T) {
	j := Job{
		RW: RandRW, BS: 4096, Size: 1 << 20, NumJobs: 2, RateIOPS: 2000, IOEngine: Null,
		Runtime: 200 * time.Millisecond, SampleEvery: 20 * time.Millisecond, PerJob: true,
	}
	res := start(t, j)
	if n := len(res.Samples); n < 2 || n > 12 {
		t.Errorf("%d samples of 20 ms in 200 ms", n)
	}
	for i, one := range res.Jobs {
		var s Sample
		for _, e := range one.Samples {
			s.Ops, s.WriteOps, s.Bytes = s.Ops+e.Ops, s.WriteOps+e.WriteOps, s.Bytes+e.Bytes
		}
		r, w := one.Classes[0], one.Classes[1]
		if len(one.Samples) < 2 || s.Ops == 0 {
			t.Errorf("job %d: %d I/Os in %d samples", i, s.Ops, len(one.Samples))
		}
		if want := (Sample{Ops: r.Ops + w.Ops, WriteOps: w.Ops, Bytes: r.Bytes + w.Bytes}); s != want {
			t.Errorf("job %d: the sums of the samples are %+v, want %+v", i, s, want)
		}
	}
	j.SampleEvery = time.Millisecond
	if err := j.Validate(); err == nil {
		t.Error("an interval of 1 ms is accepted")
	}
	j.SampleEvery, j.Runtime = 10*time.Millisecond, 24*time.Hour
	if err := j.Validate(); err == nil {
		t.Error("a day of samples each 10 ms is accepted")
	}
}

// TestParallelWalksAreAlone: every I/O in flight walks the region from the same start, whatever the others do, and
// whichever engine has them in flight.
func TestParallelWalksAreAlone(t *testing.T) {
	j := Job{RW: RW, BS: 4096, Offset: 8192, Size: 64 << 10, NumJobs: 2, IODepth: 3, Runtime: 1, WholeRegion: true, StartIncrement: 24 << 10, OneSequence: true, Parallel: true}
	null, file := j, j
	null.IOEngine = Null
	file.IOEngine, file.Filename = PSync, written(t, 128<<10)
	for name, j := range map[string]Job{"slots of a thread": null, "threads of a lane": file} {
		r := prepare(t, j)
		for _, th := range r.threads {
			at := map[*slot]int64{}
			for i := range 100 {
				sl := &th.slots[i*i%len(th.slots)] // Not in turn.
				th.gen.next(sl)
				want, begun := at[sl]
				if !begun {
					want = int64(th.lane.start)
				} else if want+4096 > 64<<10 {
					want = 0
				}
				if sl.off != 8192+want {
					t.Fatalf("%s: I/O %d is at %d, want %d", name, i, sl.off, 8192+want)
				}
				at[sl] = want + 4096
			}
		}
		if got := r.lanes[1].start; got != 24<<10 {
			t.Errorf("the second job starts at %d", got)
		}
	}
	for want, change := range map[string]func(*Job){
		"walks nothing":                func(j *Job) { j.RW, j.StartIncrement, j.OneSequence = RandRead, 0, false },
		"contradicts shared_cursor":    func(j *Job) { j.SharedCursor, j.StartIncrement = true, 0 },
		"walks one file":               func(j *Job) { j.Filename, j.Files = "", []string{"a", "b"} },
		"write over each other":        func(j *Job) { j.Verify = true },
		"for a pattern that goes back": func(j *Job) { j.RWNumber, j.StartIncrement, j.OneSequence = -8192, 0, false },
	} {
		bad := file
		change(&bad)
		var opt *OptionError
		if err := bad.Validate(); !errors.As(err, &opt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
