package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"plimsoll/load"
)

// A StageJob is one of the block jobs of a stage, which start together.
type StageJob struct {
	// Name is the user's name for it.
	Name string `json:"name"`
	// Job is the block job. Its files are absolute paths, or relative to the trial's folder.
	Job load.Job `json:"job"`
	// Size is the length in bytes of each file that the job makes by writing data: one that doesn't exist, or Plimsoll's
	// own if it is shorter, which is made anew as fio does. 0: the files have to exist.
	Size int64 `json:"size,omitempty"`
	// Sizes are such lengths, one for each file, instead of Size. nil: Size.
	Sizes []int64 `json:"sizes,omitempty"`
	// Dir makes the job read the regular files in this folder and the folders below it. They must exist. Job.Size is how
	// many bytes it reads of all files together.
	Dir string `json:"dir,omitempty"`
	// Truncate makes or empties each of its files instead of laying it out: writes then extend it, as dd's do.
	Truncate bool `json:"truncate,omitempty"`
	// Keep is how many bytes at the beginning of a file Truncate leaves: a longer file is cut there, and a shorter one gets
	// a hole up to there, as dd's seek= does.
	Keep int64 `json:"keep,omitempty"`
	// Extend makes missing files, empty, instead of laying them out, and keeps the data of existing ones: writes beyond the
	// end extend a file, as dd's with conv=notrunc do.
	Extend bool `json:"extend,omitempty"`
	// AtEnd, with Extend, moves the region of a job with one file to the end that the file has at the start.
	AtEnd bool `json:"at_end,omitempty"`
	// Parents makes missing parent folders of files, as fio does; they stay. Without it, a missing folder is an error.
	Parents bool `json:"parents,omitempty"`
	// Exist is Must if its files have to exist, or MustNot if they must not. Empty: either.
	Exist string `json:"exist,omitempty"`
	// Destructive lists the files with data that Plimsoll did not write, and the block devices, that may be overwritten:
	// paths as the job's own are. Each of the job's files needs its own entry.
	Destructive []string `json:"destructive_paths,omitempty"`
	// Remove removes its files at the end.
	Remove bool `json:"remove,omitempty"`
	// OffsetPercent and SizePercent give the region in percent of its shortest file, in addition to Job.Offset and instead
	// of Job.Size. IOPercent is Job.IOSize in percent of the region over all files. 0: not used.
	OffsetPercent int `json:"offset_percent,omitempty"`
	// StepPercent moves the region on by that percentage of its shortest file, Steps times.
	StepPercent int `json:"step_percent,omitempty"`
	Steps       int `json:"steps,omitempty"`
	// OffsetAlign is the alignment in bytes, upwards, of an offset of OffsetPercent or StepPercent. 0: the block size.
	OffsetAlign int64 `json:"offset_align,omitempty"`
	SizePercent int   `json:"size_percent,omitempty"`
	IOPercent   int   `json:"io_percent,omitempty"`
	// Clip cuts Job.Size to the whole blocks that its shortest file has from Job.Offset on, or, with Job.Tail, to all of
	// that.
	Clip bool `json:"clip,omitempty"`
	// Invalidate drops its files from the page cache before the start, as far as the kernel does so.
	Invalidate bool `json:"invalidate,omitempty"`
	// PreRead reads its region into the page cache before the start, after Invalidate.
	PreRead bool `json:"pre_read,omitempty"`
	// EndAll ends the other jobs of the stage when this one ends. With a Group above 0, it ends only those of the same
	// group, unless EndStage is set.
	EndAll   bool `json:"end_all,omitempty"`
	Group    int  `json:"group,omitempty"`
	EndStage bool `json:"end_stage,omitempty"`
	// FlowID is the flow of the stage that a job with a FlowWeight belongs to.
	FlowID int `json:"flow_id,omitempty"`
	// FilesOnly lays its files out and does no I/O.
	FilesOnly bool `json:"files_only,omitempty"`
	// Least, if not nil, ends the job with an error when it is slower.
	Least *LeastRate `json:"least,omitempty"`
	// Steady, if not nil, ends the job when its samples are steady.
	Steady *SteadyEnd `json:"steady,omitempty"`
}

// FilesOnly reports whether a stage only makes files, and measures nothing.
func (s Spec) FilesOnly() bool {
	return s.Kind == Stage && len(s.Jobs) > 0 && !slices.ContainsFunc(s.Jobs, func(j StageJob) bool { return !j.FilesOnly })
}

// The values of StageJob.Exist.
const (
	Must    = "must"
	MustNot = "must not"
)

// A StageResult is the result of one job of a stage.
type StageResult struct {
	Name string `json:"name"`
	// Job is the job that was done, with its defaults and the chosen engine.
	Job load.Job `json:"job"`
	// FileSizes are the lengths in bytes of its files, in the job's order.
	FileSizes []int64 `json:"file_sizes,omitempty"`
	load.Result
	// Steady is the result of StageJob.Steady.
	Steady *SteadyResult `json:"steady,omitempty"`
}

// othersNote reports a file that no longer counts as Plimsoll's own.
const othersNote = "another program may have written to %s meanwhile; Plimsoll will not overwrite it again without --destructive"

// stageRun is several block jobs that start together.
type stageRun struct {
	jobs []StageJob
	runs []*load.Run // nil for a job with FilesOnly
	// claims are the files by their absolute paths. marks are the session's notes on files that can't be marked.
	claims   map[string]*claim
	marks    Marks
	opens    *opens // watches the files while the jobs run
	status   stageStatus
	prepared time.Duration
}

// prepareStage lays out the files of all jobs and opens them.
func prepareStage(ctx context.Context, spec Spec, dir string) (_ *stageRun, err error) {
	s := &stageRun{jobs: slices.Clone(spec.Jobs), claims: map[string]*claim{}, marks: spec.Marks}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	begin := time.Now()
	for i := range s.jobs {
		j := &s.jobs[i]
		if err := s.files(ctx, j, dir); err != nil {
			return nil, err
		}
	}
	s.prepared = time.Since(begin)
	flows := map[int]*load.Flow{}
	for i := range s.jobs {
		j := &s.jobs[i]
		if j.FilesOnly {
			s.runs = append(s.runs, nil)
			continue
		}
		if err := j.resolve(); err != nil {
			return nil, err
		}
		if err := j.invalidate(); err != nil {
			return nil, err
		}
		if err := j.preRead(ctx); err != nil {
			return nil, err
		}
		r, err := load.PrepareFiles(j.Job, s.openFiles(j))
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", j.Name, err)
		}
		if j.Job.FlowWeight > 0 {
			if flows[j.FlowID] == nil {
				flows[j.FlowID] = new(load.Flow)
			}
			r.Join(flows[j.FlowID])
		}
		s.runs = append(s.runs, r)
	}
	s.guard()
	return s, nil
}

// Run implements Runner: all jobs start together. The stage's window goes from their start to the end of the last, ramps
// included; with a single job it is the job's own.
func (s *stageRun) Run(ctx context.Context, onSample func(load.Sample)) (*Result, error) {
	r := &Result{Prepared: s.prepared, Stage: make([]StageResult, len(s.runs))}
	errs := make([]error, len(s.runs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := newEnds(ctx, s.jobs)
	win := openWindow()
	var turning sync.Mutex // held while win is opened or closed
	if len(s.runs) == 1 && s.runs[0] != nil {
		s.runs[0].OnRenew = func() {
			turning.Lock()
			defer turning.Unlock()
			if !win.closed {
				win = openWindow()
			}
		}
	}
	if len(s.runs) > 0 && s.aligned() {
		// All jobs have the same measured window: the counters cover that, without ramp and cool-down.
		s.runs[0].OnWindow = func(begin bool) {
			turning.Lock()
			defer turning.Unlock()
			if begin {
				win = openWindow()
			} else {
				win.close(r)
			}
		}
	}
	begin := time.Now()
	s.status.start(begin, s.jobs)
	var all sync.WaitGroup
	for i, run := range s.runs {
		if run == nil {
			r.Stage[i] = StageResult{Name: s.jobs[i].Name, Job: s.jobs[i].Job}
			continue
		}
		report := onSample
		if i > 0 {
			report = nil
		}
		report = s.status.sampled(s.jobs[i], i, report)
		sizes := run.FileSizes()
		all.Go(func() {
			res, err := run.Start(ends.ctx[i], ends.watch(i, report))
			err = ends.done(i, err)
			if res != nil {
				done := run.Job()
				done.Script, done.Only = nil, nil // They are long, and the caller has them.
				r.Stage[i] = StageResult{Name: s.jobs[i].Name, Job: done, FileSizes: sizes, Result: *res, Steady: ends.result(i)}
				s.status.end(i, r.Stage[i])
			}
			if err != nil {
				errs[i] = partial(res, fmt.Errorf("job %s: %w", s.jobs[i].Name, err))
				cancel()
			}
		})
	}
	all.Wait()
	r.Elapsed, r.Start = time.Since(begin), begin
	r.WallElapsed = time.Now().Round(0).Sub(begin.Round(0))
	if !win.closed {
		win.close(r)
	}
	r.CPUs = win.cpus
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	marks, others := s.mark()
	if len(marks) > 0 {
		r.Marks = marks
	}
	for _, path := range others {
		for i := range s.jobs {
			if slices.Contains(s.jobs[i].paths(), path) {
				r.Stage[i].Notes = append(r.Stage[i].Notes, fmt.Sprintf(othersNote, path))
				break
			}
		}
	}
	r.gather(s.aligned())
	return r, nil
}

// aligned reports whether all jobs are measured in the same window by the clock.
func (s *stageRun) aligned() bool {
	if len(s.runs) == 0 {
		return false
	}
	for _, j := range s.jobs {
		if len(s.jobs) > 1 && (j.Steady != nil || j.EndAll) || j.FilesOnly {
			return false // One may end before the others.
		}
	}
	first := s.runs[0].Job()
	for _, r := range s.runs {
		j := r.Job()
		sameWindow := j.Runtime == first.Runtime && j.StartDelay+j.RampTime == first.StartDelay+first.RampTime
		byTime := j.Runtime > 0 && !j.ByAmount() && !j.EndFsync && len(j.Script) == 0
		if !sameWindow || !byTime {
			return false
		}
	}
	return true
}

// gather adds up the jobs. If all have the same measured window, it is that of the whole stage.
func (r *Result) gather(aligned bool) {
	for _, s := range r.Stage {
		if s.Engine != "" {
			r.IOEngine = s.Engine
		}
		if r.Buffers != load.BuffersPlain && s.Buffers != "" {
			r.Buffers = s.Buffers
		}
		r.Late, r.Missed, r.MaxLate = r.Late+s.Late, r.Missed+s.Missed, max(r.MaxLate, s.MaxLate)
		r.Drained = max(r.Drained, s.Drained)
		for _, n := range s.Notes {
			r.Notes = append(r.Notes, s.Name+": "+n)
		}
		for _, c := range s.Classes {
			r.add(c)
		}
	}
	if len(r.Classes) == 0 { // Jobs that only make files did no I/O.
		r.Classes = []load.Class{{Name: "read"}, {Name: "write"}}
		return
	}
	if one := r.Stage[0]; aligned || len(r.Stage) == 1 {
		r.Elapsed, r.WallElapsed, r.Start = one.Elapsed, one.WallElapsed, one.Start
	}
	if len(r.Stage) == 1 {
		r.Samples = r.Stage[0].Samples
	}
}

// add merges the figures of c into the class of the same name; if there is none, c becomes a new one.
func (r *Result) add(c load.Class) {
	for i := range r.Classes {
		if r.Classes[i].Name == c.Name {
			r.Classes[i].Merge(c)
			return
		}
	}
	n := load.Class{Name: c.Name}
	n.Merge(c)
	r.Classes = append(r.Classes, n)
}

// Close implements Runner.
func (s *stageRun) Close() error {
	var errs []error
	s.mark() // First, because the runs close their files, too.
	for _, r := range s.runs {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	s.markRead()
	if s.opens != nil {
		s.opens.close()
	}
	return errors.Join(append(errs, s.release())...)
}

// openFiles returns the job's open files, in its order.
func (s *stageRun) openFiles(j *StageJob) []*os.File {
	var files []*os.File
	for _, p := range j.paths() {
		if c := s.claims[p]; c != nil {
			files = append(files, c.file)
		}
	}
	return files
}
