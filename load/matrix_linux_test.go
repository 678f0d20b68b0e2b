package load

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"
	"time"
)

// An end is one way for a job to stop.
type end struct {
	name string
	set  func(*Job)
	// ops is how many I/Os of jobs*blocks there must be; -1: any number.
	ops func(j Job, blocks int64) int64
}

var ends = []end{
	{"one pass", func(*Job) {}, func(_ Job, blocks int64) int64 { return blocks }},
	{"number_ios", func(j *Job) { j.NumberIOs = 77 }, func(j Job, _ int64) int64 { return 77 * int64(j.NumJobs) }},
	{"number_ios after a ramp", func(j *Job) { j.NumberIOs, j.RampTime = 77, 10*time.Millisecond }, func(j Job, _ int64) int64 { return 77 * int64(j.NumJobs) }},
	{"number_ios before the runtime", func(j *Job) { j.NumberIOs, j.Runtime = 77, time.Hour }, func(j Job, _ int64) int64 { return 77 * int64(j.NumJobs) }},
	{"runtime", func(j *Job) { j.Runtime = 20 * time.Millisecond }, func(Job, int64) int64 { return -1 }},
	{"runtime after a ramp", func(j *Job) { j.Runtime, j.RampTime = 20*time.Millisecond, 10*time.Millisecond }, func(Job, int64) int64 { return -1 }},
	{"runtime at a rate", func(j *Job) { j.Runtime, j.RateIOPS = 40*time.Millisecond, 2000 }, func(Job, int64) int64 { return -1 }},
	{"number_ios at a rate", func(j *Job) { j.NumberIOs, j.RateIOPS = 77, 20000 }, func(j Job, _ int64) int64 { return 77 * int64(j.NumJobs) }},
	{"end_fsync", func(j *Job) { j.NumberIOs, j.EndFsync = 77, j.writes() }, func(j Job, _ int64) int64 { return 77 * int64(j.NumJobs) }},
	{"fsync", func(j *Job) { j.NumberIOs = 77; j.Fsync = every(*j, 8) }, func(j Job, _ int64) int64 { return 77 * int64(j.NumJobs) }},
	{"fdatasync", func(j *Job) { j.NumberIOs = 77; j.FDataSync = every(*j, 8) }, func(j Job, _ int64) int64 { return 77 * int64(j.NumJobs) }},
}

// every is n for jobs that write.
func every(j Job, n int) int {
	if j.writes() {
		return n
	}
	return 0
}

// TestInvariants runs every engine with every pattern and every way to end. Each time the figures must agree with each other and
// with the file.
func TestInvariants(t *testing.T) {
	const bs, blocks = 4096, 128
	dir := t.TempDir()
	works := map[string]bool{}
	for _, p := range ProbeEngines(dir) {
		works[p.Engine] = p.OK
	}
	for _, engine := range append(realEngines(), Null) {
		if !works[engine] {
			t.Errorf("%s does not work here: the test needs it", engine)
			continue
		}
		for _, rw := range []string{Read, Write, RandRead, RandWrite, RW, RandRW} {
			for _, e := range ends {
				for _, shape := range []struct {
					jobs, depth int
					direct      bool
				}{{1, 1, false}, {2, 3, true}} {
					j := Job{RW: rw, BS: bs, Offset: bs, Size: bs * blocks, NumJobs: shape.jobs, IODepth: shape.depth, Direct: shape.direct && engine != Null, IOEngine: engine}
					e.set(&j)
					t.Run(fmt.Sprintf("%s/%s/%s/%dx%d", engine, rw, e.name, j.NumJobs, j.IODepth), func(t *testing.T) {
						if engine != Null {
							j.Filename = zeros(t, dir, bs*(blocks+2))
						}
						r := prepare(t, j)
						res, err := r.Start(t.Context(), nil)
						if err != nil {
							t.Fatal(err)
						}
						checkResult(t, r, res, e.ops(j, blocks))
						if engine != Null {
							checkStamps(t, j, res, blocks)
						}
					})
				}
			}
		}
	}
}

// checkResult checks the invariants of any result. want is the number of reads and writes, -1 if the time decides.
func checkResult(t *testing.T, r *Run, res *Result, want int64) {
	t.Helper()
	j := r.Job()
	if want >= 0 && res.Ops() != want {
		t.Errorf("%d I/Os, want %d", res.Ops(), want)
	}
	var ops, bytes int64
	for _, c := range res.Classes {
		if int64(c.Lat.Count()) != c.Ops+c.InFlight {
			t.Errorf("%s: %d operations, %d in the histogram", c.Name, c.Ops, c.Lat.Count())
		}
		if c.Name == "sync" {
			if c.Bytes != 0 || c.Response != nil {
				t.Errorf("syncs have %d bytes and response times %v", c.Bytes, c.Response)
			}
			continue
		}
		if c.Bytes != c.Ops*j.BS {
			t.Errorf("%s: %d bytes in %d operations of %d", c.Name, c.Bytes, c.Ops, j.BS)
		}
		if (c.Response != nil) != (j.RateIOPS > 0) {
			t.Errorf("%s: response times %v at rate %d", c.Name, c.Response, j.RateIOPS)
		}
		if c.Response != nil && (int64(c.Response.Count()) != c.Ops+c.InFlight || c.Response.Sum() < c.Lat.Sum()) {
			t.Errorf("%s: %d response times with sum %d, %d service times with sum %d", c.Name, c.Response.Count(), c.Response.Sum(), c.Lat.Count(), c.Lat.Sum())
		}
		slack := time.Duration(0)
		if j.RampTime > 0 {
			slack = time.Second // The window begins when a thread has woken up and read the counters.
		}
		if c.Ops > 0 && int64(c.Lat.Max()) > int64(res.Elapsed+res.Drained+j.RampTime)+int64(slack) {
			t.Errorf("%s: the slowest took %v in a window of %v", c.Name, time.Duration(c.Lat.Max()), res.Elapsed)
		}
		ops += c.Ops
		bytes += c.Bytes
	}
	if reads, writes := res.Class("read") != nil, res.Class("write") != nil; reads != j.reads() || writes != j.writes() {
		t.Errorf("rw=%s has the classes %v", j.RW, res.Classes)
	}
	at := time.Duration(0)
	for _, s := range res.Samples {
		if s.At < at || s.At > res.Elapsed {
			t.Errorf("a sample at %v after one at %v in a window of %v", s.At, at, res.Elapsed)
		}
		at = s.At
		ops -= s.Ops
		bytes -= s.Bytes
	}
	if ops != 0 || bytes != 0 {
		t.Errorf("the classes have %d I/Os and %d bytes more than the samples", ops, bytes)
	}
	if res.Elapsed <= 0 || res.FirstDone > res.LastDone || res.LastDone > res.Elapsed {
		t.Errorf("elapsed %v, first done %v, last done %v", res.Elapsed, res.FirstDone, res.LastDone)
	}
	// On a busy machine the first I/O may end after the window, which then lasts until that.
	if j.Runtime > 0 && j.NumberIOs == 0 && res.Elapsed != j.Runtime && (res.Elapsed < j.Runtime || res.Ops() > 1) {
		t.Errorf("elapsed %v, want the runtime %v", res.Elapsed, j.Runtime)
	}
	if n := j.RateIOPS * int64(j.NumJobs); n > 0 && j.Runtime > 0 {
		asked := int64(j.Runtime.Seconds() * float64(n))
		// Each lane has an I/O at time zero; the rate bounds only the I/Os that came due.
		if got := res.Ops() + res.InFlight() + res.Missed; got < asked-int64(j.NumJobs) || got > asked+int64(j.NumJobs) {
			t.Errorf("%d I/Os done, left or missed at %d/s in %v, want %d", got, n, j.Runtime, asked)
		}
	}
	checkSyncs(t, r, res)
}

// checkSyncs checks that there were as many syncs as the job asked for.
func checkSyncs(t *testing.T, r *Run, res *Result) {
	t.Helper()
	j := r.Job()
	c := res.Class("sync")
	n := int64(max(j.Fsync, j.FDataSync))
	switch {
	case n == 0 && !j.EndFsync:
		if c != nil {
			t.Errorf("%d syncs that nobody asked for", c.Ops)
		}
	case c == nil:
		t.Error("no class for the syncs")
	case r.engine == Null:
	case j.EndFsync:
		if c.Ops != 1 {
			t.Errorf("%d syncs, want the one at the end", c.Ops)
		}
	default:
		// Every thread counts its own writes.
		w := res.Class("write").Ops
		least := w/n - int64(len(r.threads))
		if c.Ops > w/n || c.Ops < least {
			t.Errorf("%d syncs after %d writes of %d threads, want %d at most and %d at least", c.Ops, w, len(r.threads), w/n, least)
		}
	}
}

// checkStamps reads the file back: every written block has its own offset in it, no other block was touched, and their number agrees
// with the job's figures.
func checkStamps(t *testing.T, j Job, res *Result, blocks int64) {
	t.Helper()
	data, err := os.ReadFile(j.Filename)
	if err != nil {
		t.Fatal(err)
	}
	touched := int64(0)
	for b := range int64(len(data)) / j.BS {
		p := data[b*j.BS:][:j.BS]
		off, seq := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		if seq == 0 && off == 0 {
			continue
		}
		touched++
		if int64(off) != b*j.BS || b == 0 || b > blocks {
			t.Fatalf("block %d is stamped %d", b, off)
		}
	}
	var writes int64
	if c := res.Class("write"); c != nil {
		writes = c.Ops
	}
	if !j.writes() && touched > 0 {
		t.Errorf("%d blocks were written by rw=%s", touched, j.RW)
	}
	// The I/Os of the ramp, and those that were cut off, are on the disk and in no figure.
	if j.RampTime == 0 && touched > writes+res.InFlight() {
		t.Errorf("%d blocks were written, %d counted", touched, writes)
	}
	if j.Runtime == 0 && j.NumberIOs == 0 && (j.RW == Write || j.RW == RandWrite) && touched != blocks {
		t.Errorf("%d of %d blocks were written in a pass", touched, blocks)
	}
}
