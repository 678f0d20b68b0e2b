package workload

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"plimsoll/load"
)

// A StageJob is one of the block jobs of a stage, which start together.
type StageJob struct {
	// Name is what the user calls it.
	Name string `json:"name"`
	// Job is what it does. Its files are absolute paths, or relative to the
	// trial's folder.
	Job load.Job `json:"job"`
	// Size is the length in bytes that each of its files gets if it doesn't exist, by
	// writing data. 0: the files have to exist.
	Size int64 `json:"size,omitempty"`
	// Truncate makes each of its files, or empties it, instead of laying it out: writes then
	// extend it, as dd's do.
	Truncate bool `json:"truncate,omitempty"`
	// Destructive allows writes to a file that holds data Plimsoll did not write, and to a
	// block device.
	Destructive bool `json:"destructive,omitempty"`
	// Remove removes its files at the end.
	Remove bool `json:"remove,omitempty"`
}

// A StageResult is what one job of a stage measured.
type StageResult struct {
	Name string `json:"name"`
	// Job is what was done, with its defaults and the engine that was chosen.
	Job load.Job `json:"job"`
	load.Result
}

// An OverwriteError is the refusal to write over data that Plimsoll did not write.
type OverwriteError struct {
	// Job and Path name the job and its file; What is "a file of 4096 bytes", "a block device".
	Job, Path, What string
}

// Error implements error.
func (e *OverwriteError) Error() string {
	return fmt.Sprintf("%s: job %s would write over %s that Plimsoll did not make; allow it with --destructive %s", e.Path, e.Job, e.What, e.Path)
}

// stageRun is several block jobs that start together.
type stageRun struct {
	jobs     []StageJob
	runs     []*load.Run
	remove   []string
	written  []string // files that are ours, to be marked
	prepared time.Duration
}

// prepareStage lays out the files of all jobs and opens them.
func prepareStage(ctx context.Context, spec Spec, dir string) (_ *stageRun, err error) {
	s := &stageRun{jobs: slices.Clone(spec.Jobs)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	begin := time.Now()
	made := map[string]bool{}
	for i := range s.jobs {
		j := &s.jobs[i]
		if err := s.files(ctx, j, dir, made); err != nil {
			return nil, err
		}
	}
	s.prepared = time.Since(begin)
	for _, j := range s.jobs {
		r, err := load.Prepare(j.Job)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", j.Name, err)
		}
		s.runs = append(s.runs, r)
	}
	return s, nil
}

// files makes the paths of a job absolute, lays out what is missing, and refuses to
// write over what isn't ours. made holds what this stage laid out.
func (s *stageRun) files(ctx context.Context, j *StageJob, dir string, made map[string]bool) error {
	if j.Job.IOEngine == load.Null {
		return nil
	}
	abs := func(p string) string {
		if filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(dir, p)
	}
	var paths []string
	if len(j.Job.Files) > 0 {
		j.Job.Files = slices.Clone(j.Job.Files)
		for i, p := range j.Job.Files {
			j.Job.Files[i] = abs(p)
		}
		paths = j.Job.Files
	} else {
		j.Job.Filename = abs(j.Job.Filename)
		paths = []string{j.Job.Filename}
	}
	for _, p := range paths {
		if made[p] {
			continue
		}
		laidOut, err := stageFile(ctx, j, p)
		if err != nil {
			return err
		}
		made[p] = laidOut
		if j.Job.Writes() || laidOut {
			s.written = append(s.written, p)
		}
		if j.Remove && laidOut {
			s.remove = append(s.remove, p)
		}
	}
	return nil
}

// stageFile makes one file ready and reports whether it had to lay it out.
func stageFile(ctx context.Context, j *StageJob, path string) (bool, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && j.Size == 0 && !j.Truncate:
		return false, fmt.Errorf("job %s: %s does not exist; give a size, and it is made", j.Name, path)
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return false, fmt.Errorf("job %s: %w", j.Name, err)
	case st.Mode().Type() == os.ModeDevice:
		if j.Job.Writes() && !j.Destructive {
			return false, &OverwriteError{j.Name, path, "a block device"}
		}
		return false, nil
	case !st.Mode().IsRegular():
		return false, fmt.Errorf("job %s: %s is neither a regular file nor a block device", j.Name, path)
	case st.Size() == 0 && j.Size > 0:
	case st.Size() == 0 && j.Truncate:
	default:
		if err := existing(j, path, st.Size()); err != nil || !j.Truncate {
			return false, err
		}
	}
	if j.Truncate {
		if err := truncate(path); err != nil {
			return false, fmt.Errorf("job %s: %w", j.Name, err)
		}
		return true, nil
	}
	_, err = load.Layout(ctx, path, j.Size, load.LayoutOptions{Seed: j.Job.RandSeed})
	if err != nil {
		return false, fmt.Errorf("job %s: %w", j.Name, err)
	}
	return true, nil
}

// truncate makes an empty file.
func truncate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// existing judges a file that holds something already.
func existing(j *StageJob, path string, size int64) error {
	if j.Job.Writes() && !j.Destructive && !ours(path, size) {
		return &OverwriteError{j.Name, path, fmt.Sprintf("a file of %d bytes", size)}
	}
	if size < j.Size && !j.Truncate {
		return fmt.Errorf("job %s: %s has %d bytes, but the job needs %d; remove it or give another filename", j.Name, path, size, j.Size)
	}
	return nil
}

// ours reports whether a file of size bytes holds what Layout or a job wrote: it is marked and was
// not changed since, or its blocks begin with their own offset. Sixteen of them, spread over the
// file, are no coincidence.
func ours(path string, size int64) bool {
	if marked(path) {
		return true
	}
	const unit, probes = 4096, 16
	f, err := os.Open(path)
	if err != nil || size < unit {
		return false
	}
	defer f.Close()
	units := size / unit
	for i := range int64(probes) {
		off := units * i / probes * unit
		var p [8]byte
		if _, err := f.ReadAt(p[:], off); err != nil || int64(binary.LittleEndian.Uint64(p[:])) != off {
			return false
		}
	}
	return true
}

// Run implements Runner: all jobs start together, and the window of the whole is that
// from their start to the end of the last.
func (s *stageRun) Run(ctx context.Context, onSample func(load.Sample)) (*Result, error) {
	r := &Result{Prepared: s.prepared, Stage: make([]StageResult, len(s.runs))}
	errs := make([]error, len(s.runs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	win := openWindow()
	begin := time.Now()
	var all sync.WaitGroup
	for i, run := range s.runs {
		report := onSample
		if i > 0 {
			report = nil
		}
		all.Go(func() {
			res, err := run.Start(ctx, report)
			if res != nil {
				r.Stage[i] = StageResult{Name: s.jobs[i].Name, Job: run.Job(), Result: *res}
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
	win.close(r)
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r.gather()
	return r, nil
}

// gather adds the jobs up.
func (r *Result) gather() {
	for _, s := range r.Stage {
		r.IOEngine = s.Engine
		if r.Buffers != load.BuffersPlain && s.Buffers != "" {
			r.Buffers = s.Buffers
		}
		r.Late, r.Missed, r.MaxLate = r.Late+s.Late, r.Missed+s.Missed, max(r.MaxLate, s.MaxLate)
		for _, n := range s.Notes {
			r.Notes = append(r.Notes, s.Name+": "+n)
		}
		for _, c := range s.Classes {
			r.add(c)
		}
	}
	if len(r.Stage) == 1 {
		one := r.Stage[0]
		r.Elapsed, r.WallElapsed, r.Start, r.Samples = one.Elapsed, one.WallElapsed, one.Start, one.Samples
	}
}

// add merges a class into that of the same name.
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
	for _, r := range s.runs {
		errs = append(errs, r.Close())
	}
	for _, p := range s.written {
		mark(p)
	}
	for _, p := range s.remove {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
