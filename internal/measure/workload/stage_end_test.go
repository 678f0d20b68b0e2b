package workload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/steady"
	"plimsoll/load"
)

// null is a job that does no I/O, at 1,000 a second.
func null(name string, runtime time.Duration) StageJob {
	return StageJob{Name: name, Job: load.Job{RW: load.RandRead, IOEngine: load.Null, Size: 1 << 30, Runtime: runtime, RateIOPS: 1000, SampleEvery: 50 * time.Millisecond}}
}

func TestStageEndsASteadyJob(t *testing.T) {
	j, other := null("steady", time.Minute), null("other", 1500*time.Millisecond)
	j.Steady = &SteadyEnd{Criterion: steady.Criterion{Metric: "iops", Limit: 90, Percent: true}, Window: 4, Ramp: 3}
	res, err := stage(t, t.TempDir(), j, other)
	if err != nil {
		t.Fatal(err)
	}
	s := res.Stage[0]
	if s.Steady == nil || !s.Steady.Attained || s.Steady.Figure >= 90 {
		t.Fatalf("steady = %+v, want one that is attained, with a figure below 90", s.Steady)
	}
	if iops, bw, lat := len(s.Steady.IOPS), len(s.Steady.BW), len(s.Steady.Lat); iops != 4 || bw != 4 || lat != 4 {
		t.Fatalf("the window has %d values of IOPS, %d of bandwidth and %d of latency, want 4 each", iops, bw, lat)
	}
	if s.Elapsed < 340*time.Millisecond || s.Elapsed > 30*time.Second {
		t.Errorf("it took %v, want the seven samples of 50 ms that it needs at least", s.Elapsed)
	}
	// The samples of the ramp are not in the window.
	if n := len(s.Samples); n < 7 {
		t.Errorf("%d samples", n)
	}
	if other := res.Stage[1]; other.Steady != nil || other.Elapsed < 1400*time.Millisecond {
		t.Errorf("the other job was ended after %v", other.Elapsed)
	}
}

func TestStageJudgesAGroupTogether(t *testing.T) {
	a, b := null("a", 10*time.Second), null("b", 10*time.Second)
	b.Job.RateIOPS = 3000
	c := steady.Criterion{Metric: "iops", Limit: 3900} // of 4,000: one job alone would always keep it
	a.Steady = &SteadyEnd{Criterion: c, Window: 3, Group: 1}
	b.Steady = &SteadyEnd{Criterion: c, Window: 3, Group: 1}
	res, err := stage(t, t.TempDir(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range res.Stage {
		if s.Steady == nil || !s.Steady.Attained || s.Elapsed > 9*time.Second {
			t.Errorf("%s: %+v after %v", s.Name, s.Steady, s.Elapsed)
			continue
		}
		if mean, _ := steady.Line(s.Steady.IOPS); mean < 2000 {
			t.Errorf("%s was judged by %v IOPS, not by the group's", s.Name, s.Steady.IOPS)
		}
	}
}

// A job that never is steady ends at its time and says so.
func TestStageSaysWhatNeverWasSteady(t *testing.T) {
	j := null("unsteady", 500*time.Millisecond)
	j.Steady = &SteadyEnd{Criterion: steady.Criterion{Metric: "lat", Limit: 1e-12}, Window: 3}
	res, err := stage(t, t.TempDir(), j)
	if err != nil {
		t.Fatal(err)
	}
	s := res.Stage[0]
	if s.Steady == nil {
		t.Fatal("it is not told whether it was steady")
	}
	if s.Steady.Attained || len(s.Steady.Lat) != 3 {
		t.Errorf("%+v, want a window of 3 that is not steady", s.Steady)
	}
	if s.Elapsed < 450*time.Millisecond {
		t.Errorf("it ended after %v", s.Elapsed)
	}
}

func TestStageEndAllEndsTheOthers(t *testing.T) {
	first, second := null("first", 200*time.Millisecond), null("second", time.Minute)
	first.EndAll = true
	res, err := stage(t, t.TempDir(), first, second)
	if err != nil {
		t.Fatal(err)
	}
	if d := res.Stage[1].Elapsed; d > 30*time.Second || res.Stage[1].Ops() == 0 {
		t.Errorf("the second took %v and did %d I/Os", d, res.Stage[1].Ops())
	}
}

// A stage that is ended from outside is not a job's own end.
func TestStageIsCancelledWithSteadyJobs(t *testing.T) {
	j := null("steady", time.Minute)
	j.EndAll = true
	j.Steady = &SteadyEnd{Criterion: steady.Criterion{Metric: "iops", Limit: 1e-12}, Window: 3}
	r, err := Prepare(context.Background(), Spec{Name: "s", Kind: Stage, Jobs: []StageJob{j}}, Folders{Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Run(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run = %v, want the context's error", err)
	}
}

func TestStageRegionInPercent(t *testing.T) {
	dir := t.TempDir()
	job := StageJob{Name: "j", Size: 1 << 20, Job: load.Job{RW: load.Read, Filename: "f"}, OffsetPercent: 50, SizePercent: 25, IOPercent: 50}
	res, err := stage(t, dir, job)
	if err != nil {
		t.Fatal(err)
	}
	j := res.Stage[0].Job
	got := [...]int64{j.Offset, j.Size, j.IOSize, res.Stage[0].Ops()}
	if want := [...]int64{512 << 10, 256 << 10, 128 << 10, 32}; got != want {
		t.Errorf("offset, size, io_size and I/Os are %d, want %d", got, want)
	}
	// To the end of the file, which is nearer than the size.
	job.OffsetPercent, job.SizePercent, job.IOPercent = 90, 25, 100
	res, err = stage(t, dir, job)
	if err != nil {
		t.Fatal(err)
	}
	if j := res.Stage[0].Job; j.Offset != 946176 || j.Size != 1<<20-946176 {
		t.Errorf("offset %d, size %d", j.Offset, j.Size)
	}
	if err := os.WriteFile(filepath.Join(dir, "small"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = stage(t, dir, StageJob{Name: "j", Job: load.Job{RW: load.Read, Filename: "small"}, SizePercent: 1})
	if err == nil || !strings.Contains(err.Error(), "less than one block") {
		t.Errorf("a hundredth of a block: %v", err)
	}
}
