package load

import (
	"testing"
	"time"
)

// TestStatus: the Status of a run can be read at any depth and while the run sleeps, and the last one is its result.
func TestStatus(t *testing.T) {
	path := written(t, 1<<20)
	for name, j := range map[string]Job{
		"null":   {RW: RandRW, IOEngine: Null, IODepth: 4},
		"psync":  {RW: Read, IOEngine: PSync, IODepth: 3},
		"rate":   {RW: Read, IOEngine: PSync, RateIOPS: 50},
		"pauses": {RW: Read, IOEngine: PSync, ThinkTime: 20 * time.Millisecond},
		"many":   {RW: RandRead, IOEngine: Null, NumJobs: 2, RateIOPS: 1000},
		"ramp":   {RW: RandRead, IOEngine: Null, RampTime: 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j.BS, j.Filename, j.Size, j.Runtime, j.Status = 4096, path, 1<<20, 300*time.Millisecond, true
			r := prepare(t, j)
			if s := r.Status(); s != nil {
				t.Errorf("before its start: %+v", s)
			}
			done := make(chan *Result)
			go func() {
				res, err := r.Start(t.Context(), nil)
				if err != nil {
					t.Error(err)
				}
				done <- res
			}()
			last, answers := new(Result), 0
			for {
				select {
				case res := <-done:
					if answers == 0 || last.Ops() == 0 {
						t.Errorf("%d answers, the last of %d I/Os", answers, last.Ops())
					}
					if last.Ops() > res.Ops() || last.Elapsed > res.Elapsed {
						t.Errorf("the last answer has %d I/Os in %v; the result has %d in %v", last.Ops(), last.Elapsed, res.Ops(), res.Elapsed)
					}
					return
				case <-time.After(10 * time.Millisecond):
				}
				s := r.Status()
				if s == nil {
					continue
				}
				if s.Ops() < last.Ops() || s.Elapsed < last.Elapsed || s.Threads.User < 0 {
					t.Errorf("%d I/Os in %v after %d in %v, %+v", s.Ops(), s.Elapsed, last.Ops(), last.Elapsed, s.Threads)
				}
				for _, c := range s.Classes {
					if uint64(c.Ops+c.InFlight) != c.Lat.Count() {
						t.Errorf("%d of %s with %d latencies", c.Ops, c.Name, c.Lat.Count())
					}
				}
				last, answers = s, answers+1
			}
		})
	}
	if err := (Job{RW: Read, Size: 1 << 20, IOEngine: Null, Runtime: time.Second, Round: time.Second / 2, Status: true}).Validate(); err == nil {
		t.Error("a job with rounds is taken")
	}
}
