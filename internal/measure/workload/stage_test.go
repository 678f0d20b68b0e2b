package workload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"plimsoll/load"
)

// stage prepares and runs a stage in dir.
func stage(t *testing.T, dir string, jobs ...StageJob) (*Result, error) {
	t.Helper()
	r, err := Prepare(context.Background(), Spec{Name: "s", Kind: Stage, Jobs: jobs}, Folders{Work: dir})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	return r.Run(context.Background(), nil)
}

func TestStageRunsItsJobsTogether(t *testing.T) {
	dir := t.TempDir()
	res, err := stage(t, dir,
		StageJob{Name: "small", Size: 1 << 20, Job: load.Job{RW: load.RandRead, Filename: "a", Runtime: 200 * time.Millisecond}},
		StageJob{Name: "large", Size: 4 << 20, Remove: true, Job: load.Job{RW: load.RandWrite, BS: 1 << 20, Files: []string{"b", "c"}, Runtime: 200 * time.Millisecond}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Stage) != 2 || res.Stage[0].Name != "small" || res.Stage[1].Job.BS != 1<<20 {
		t.Fatalf("stage = %+v", res.Stage)
	}
	small, large := res.Stage[0], res.Stage[1]
	// Side by side, not one after the other.
	if d := large.Start.Sub(small.Start); d > 150*time.Millisecond || d < -150*time.Millisecond {
		t.Errorf("the jobs started %v apart", d)
	}
	if len(res.Classes) != 2 {
		t.Fatalf("%d classes, want 2: %+v", len(res.Classes), res.Classes)
	}
	sums := [...]int64{res.Classes[0].Ops, res.Classes[1].Bytes, int64(res.Classes[1].Lat.Count())}
	if want := [...]int64{small.Ops(), large.Classes[0].Bytes, large.Ops() + large.InFlight()}; sums != want {
		t.Errorf("the sums of reads, bytes written and latencies are %d, want %d", sums, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
		t.Error(err)
	}
	for _, f := range []string{"b", "c"} {
		if _, err := os.Stat(filepath.Join(dir, f)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", f, err)
		}
	}
}

func TestStageSpareWhatIsNotOurs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "theirs")
	text := strings.Repeat("somebody's data\n", 8192)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w := StageJob{Name: "w", Size: 64 << 10, Job: load.Job{RW: load.Write, Filename: "theirs"}}
	_, err := stage(t, dir, w)
	var over *OverwriteError
	if !errors.As(err, &over) || over.Path != path || !strings.Contains(err.Error(), "--destructive "+path) {
		t.Fatalf("err = %v, want an OverwriteError", err)
	}
	if p, _ := os.ReadFile(path); string(p) != text {
		t.Fatal("the file was changed")
	}
	r := w
	r.Job.RW = load.Read
	if _, err := stage(t, dir, r); err != nil {
		t.Errorf("reading somebody's file: %v", err)
	}
	w.Destructive = []string{"theirs"}
	if _, err := stage(t, dir, w); err != nil {
		t.Errorf("with leave: %v", err)
	}
	// A file that an earlier stage made may be written again, also after a job wrote to it.
	own := StageJob{Name: "own", Size: 64 << 10, Job: load.Job{RW: load.RandWrite, Filename: "own"}}
	for range 3 {
		if _, err := stage(t, dir, own); err != nil {
			t.Fatal(err)
		}
	}
	// It is made anew for a job that needs a larger one; a user's file isn't, nor is one that another program has written to since.
	for _, rw := range []string{load.RandWrite, load.Read} {
		own.Size, own.Job.RW = own.Size*4, rw
		r, err := stage(t, dir, own)
		if err != nil {
			t.Fatalf("%s of a file that is too short: %v", rw, err)
		}
		if got := r.Stage[0].FileSizes[0]; got != own.Size {
			t.Errorf("%s: the file has %d bytes, want %d", rw, got, own.Size)
		}
	}
	r.Size = 1 << 20
	if _, err := stage(t, dir, r); err == nil || !strings.Contains(err.Error(), "bytes, but the job needs 1048576") {
		t.Errorf("somebody's file that is too short: %v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "own"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("mine"), 4096); err != nil {
		t.Fatal(err)
	}
	f.Close()
	own.Size *= 2
	if _, err := stage(t, dir, own); err == nil || !strings.Contains(err.Error(), "but the job needs") {
		t.Errorf("one that somebody wrote to: %v", err)
	}
	if _, err := stage(t, dir, StageJob{Name: "no", Job: load.Job{RW: load.Read, Filename: "missing"}}); !errors.Is(err, ErrMissing) || !strings.HasSuffix(err.Error(), "missing does not exist; give a size to have it made") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestStageMakesParents: the folders of a file are made where the job asks for it, and nowhere else.
func TestStageMakesParents(t *testing.T) {
	dir := t.TempDir()
	j := StageJob{Name: "a", Size: 64 << 10, Job: load.Job{RW: load.Read, Filename: "one/two/file"}}
	if _, err := stage(t, dir, j); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without leave for it: %v", err)
	}
	j.Parents = true
	if _, err := stage(t, dir, j); err != nil {
		t.Error(err)
	}
}

func TestStageEndsWithItsFirstError(t *testing.T) {
	dir := t.TempDir()
	// Its end is cut off after the start, so that reads meet the end of the file.
	jobs := []StageJob{
		{Name: "long", Size: 1 << 20, Job: load.Job{RW: load.RandRead, Filename: "a", Runtime: time.Minute}},
		{Name: "short", Size: 1 << 20, Job: load.Job{RW: load.RandRead, Filename: "b", Runtime: time.Minute}},
	}
	r, err := Prepare(context.Background(), Spec{Kind: Stage, Jobs: jobs}, Folders{Work: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(filepath.Join(dir, "b"), 4096); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err = r.Run(context.Background(), nil)
	var p *PartialError
	if err == nil || !strings.Contains(err.Error(), "job short") || !errors.As(err, &p) {
		t.Errorf("err = %v, want that of job short", err)
	}
	if d := time.Since(begin); d > 30*time.Second {
		t.Errorf("the other job went on for %v", d)
	}
}

func TestStageExtendsWhatItTruncates(t *testing.T) {
	dir := t.TempDir()
	j := StageJob{Name: "dd", Truncate: true, Job: load.Job{RW: load.Write, BS: 1 << 16, Size: 1 << 20, Filename: "out"}}
	for range 2 {
		res, err := stage(t, dir, j)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(filepath.Join(dir, "out")); err != nil || st.Size() != 1<<20 || res.Classes[0].Bytes != 1<<20 {
			t.Errorf("the file is %+v after %d bytes, %v", st, res.Classes[0].Bytes, err)
		}
	}
	theirs := filepath.Join(dir, "theirs")
	if err := os.WriteFile(theirs, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	j.Job.Filename = "theirs"
	var over *OverwriteError
	if _, err := stage(t, dir, j); !errors.As(err, &over) {
		t.Errorf("err = %v, want an OverwriteError", err)
	}
	if p, _ := os.ReadFile(theirs); string(p) != "somebody's" {
		t.Errorf("the file now holds %q", p)
	}
}

func TestStageKnowsItsFilesByTheirMark(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs extended attributes")
	}
	dir := t.TempDir()
	zeros := StageJob{Name: "z", Truncate: true, Job: load.Job{RW: load.Write, Size: 1 << 16, Filename: "z", Data: load.DataZero}}
	for range 2 {
		if _, err := stage(t, dir, zeros); err != nil {
			t.Fatalf("a file of its own: %v", err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "z"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("somebody's"), 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var over *OverwriteError
	if _, err := stage(t, dir, zeros); !errors.As(err, &over) {
		t.Errorf("after somebody wrote to it: %v, want an OverwriteError", err)
	}
}

// TestStageWindowIsTheMeasuredOne: the counters of the machine are of the window, without the ramp.
func TestStageWindowIsTheMeasuredOne(t *testing.T) {
	res, err := stage(t, t.TempDir(), StageJob{Name: "a", Size: 1 << 20, Job: load.Job{
		RW: load.RandWrite, Filename: "a", BS: 4096, Data: load.DataPattern, Pattern: []byte{0, 1, 2, 3, 4, 5, 6, 7},
		RampTime: 600 * time.Millisecond, Runtime: 200 * time.Millisecond, CoolDown: 100 * time.Millisecond,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s := res.Stage[0].FileSizes; len(s) != 1 || s[0] != 1<<20 {
		t.Errorf("file sizes %v", s)
	}
	if runtime.GOOS != "linux" {
		return
	}
	if len(res.CPUs) == 0 {
		t.Fatal("nothing is known of the processors")
	}
	for _, c := range res.CPUs {
		// The ramp alone would be 600 ms; a stolen or late tick is less.
		if all := c.User + c.System + c.Idle; all > 500*time.Millisecond {
			t.Errorf("processor %d was seen for %v in a window of 200 ms", c.CPU, all)
		}
	}
}

// TestStageKnowsDiskspdsPattern: what diskspd's default writes left behind may be written over.
func TestStageKnowsDiskspdsPattern(t *testing.T) {
	dir := t.TempDir()
	pattern := make([]byte, 256)
	for i := range pattern {
		pattern[i] = byte(i)
	}
	j := StageJob{Name: "a", Size: 1 << 20, Job: load.Job{RW: load.Write, Filename: "a", BS: 4096, NumberIOs: 100, Data: load.DataPattern, Pattern: pattern}}
	for range 2 {
		if _, err := stage(t, dir, j); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStageOfOneCountsWithoutItsRamp: what the kernel counted is of the job's own window.
func TestStageOfOneCountsWithoutItsRamp(t *testing.T) {
	res, err := stage(t, t.TempDir(), StageJob{Name: "one", Size: 4 << 20, Job: load.Job{
		RW: load.RandWrite, Filename: "a", Direct: true, RateIOPS: 500, RampTime: 600 * time.Millisecond, Runtime: 200 * time.Millisecond}})
	var refused *load.DirectError
	if errors.As(err, &refused) {
		t.Skipf("needs direct I/O: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, app := res.Bytes()
	if res.ProcWritten < 0 {
		t.Skip("needs /proc/self/io")
	}
	// With the ramp it would be four times as much. The I/O at the window's begin may have been charged before it.
	if app == 0 || res.ProcWritten < app-4096 || res.ProcWritten > 2*app {
		t.Errorf("the job wrote %d bytes in its window, the process %d", app, res.ProcWritten)
	}
}

// TestStageOfSeveralHasTheirWindow: jobs with the same ramp and runtime are measured over that runtime.
func TestStageOfSeveralHasTheirWindow(t *testing.T) {
	job := load.Job{RW: load.RandRead, Size: 1 << 20, IOEngine: load.Null, RampTime: 300 * time.Millisecond, Runtime: 100 * time.Millisecond}
	res, err := stage(t, t.TempDir(), StageJob{Name: "a", Job: job}, StageJob{Name: "b", Job: job})
	if err != nil {
		t.Fatal(err)
	}
	if res.Elapsed != res.Stage[0].Elapsed || res.Elapsed >= job.RampTime+job.Runtime {
		t.Errorf("the whole took %v, its jobs %v", res.Elapsed, res.Stage[0].Elapsed)
	}
	// One that may end early makes the whole last as long as all.
	steady := StageJob{Name: "a", Job: job, EndAll: true}
	if res, err = stage(t, t.TempDir(), steady, StageJob{Name: "b", Job: job}); err != nil || res.Elapsed < 390*time.Millisecond {
		t.Errorf("with an early end the whole took %v, %v", res.Elapsed, err)
	}
}
