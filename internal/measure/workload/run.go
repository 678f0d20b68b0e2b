package workload

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"plimsoll/internal/measure/steady"
	"plimsoll/load"
)

// A Runner is a prepared workload: its files exist, and nothing was measured yet.
type Runner interface {
	// Run does the I/O and returns what was measured. It calls onSample once each load.SampleEvery: a second, less in a
	// short window. Run is called once. If the Runner is a Settler, its result counts only after Settle.
	Run(ctx context.Context, onSample func(load.Sample)) (*Result, error)
	// Close frees what Prepare took, and removes the outputs of the run. Files that the next trial in the same place can
	// use stay.
	Close() error
}

// A Judged is the Runner of a job with a steady state. Its caller may judge it, together with other clients.
type Judged interface {
	Runner
	// OnRound, called before Run, makes Run call tell for every round as it ends (its At is the end, from the beginning of
	// the first). It leaves it to Finish to end the job before its longest time.
	OnRound(tell func(load.Sample))
	// Finish ends the job. The result is that of steady.WindowRounds rounds from number from on; tell has received
	// all of them. Any goroutine may call it. After the job's own end it has no effect.
	Finish(from int)
}

// A Hanger is the Runner of a job whose I/Os may still be in flight after its window has ended.
type Hanger interface {
	Runner
	// OnHang, called before Run, makes Run call tell each second while they are in flight, with the result as it would be
	// if they never ended.
	OnHang(tell func(*Result))
}

// Prepare lays out what spec needs in the folders.
func Prepare(ctx context.Context, spec Spec, f Folders) (Runner, error) {
	dir := f.Work
	spec = spec.WithDefaults()
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	switch spec.Kind {
	case Append:
		return &appendRun{spec: spec, path: filepath.Join(dir, "append.log")}, nil
	case WAL:
		return prepareWAL(spec, filepath.Join(dir, "wal.log"))
	case HTTP:
		return &httpRun{*spec.HTTP}, nil
	case Tree:
		return prepareTree(ctx, spec, f)
	case Command:
		return nil, errors.New("a command is run by package command")
	}
	if spec.Kind == Stage {
		return prepareStage(ctx, spec, dir)
	}
	return prepareBlock(ctx, spec, dir)
}

// Defaults of the named workloads.
const (
	defaultAppends = 10_000 // as in a known comparison of mount modes
	defaultLine    = 64
	defaultSources = 360 // a tenth of the 3,604 files of the published site build (package website)
	// defaultSource is the mean size of a source file of tree. It is the median of the published site build,
	// whose mean of 77 KiB comes from a few pictures.
	defaultSource = 16 << 10
	// defaultCommit is the record of etcd's published fio job:
	// fio --rw=write --ioengine=sync --fdatasync=1 --size=22m --bs=2300.
	defaultCommit  = 2300
	defaultRuntime = time.Second
)

// WithDefaults fills in what spec leaves out.
func (s Spec) WithDefaults() Spec {
	set := func(count int, bs int64) {
		if s.Count == 0 {
			s.Count = count
		}
		if s.BS == 0 {
			s.BS = bs
		}
	}
	switch s.Kind {
	case Block, "":
		s.Kind = Block
		s.Job = s.Job.WithDefaults()
	case Append:
		set(defaultAppends, defaultLine)
	case Tree:
		set(defaultSources, defaultSource)
	case Command:
		s.Command = s.Command.withDefaults()
	case WAL:
		set(0, defaultCommit)
		if s.Runtime == 0 {
			s.Runtime = defaultRuntime
		}
	}
	return s
}

// Bounds of the named workloads: more than a trial sensibly does, and little enough to keep a mistyped plan from filling a
// disk.
const (
	MaxCount = 10_000_000
	MaxBS    = 64 << 20
)

// Validate returns the errors of s, in the plan's words. load.Job.Validate judges block jobs.
func (s Spec) Validate() error {
	switch s.Kind {
	case Block, "":
		j := s.Job
		if j.Filename == "" {
			j.Filename = "block.dat" // The worker names the file in the place.
		}
		if r := s.Steady.Round; r != 0 {
			if j.Runtime < steady.WindowRounds*r {
				return fmt.Errorf("steady_state: %d rounds of %v take longer than runtime, %v", steady.WindowRounds, r, j.Runtime)
			}
			j.Round = r
		}
		if err := j.Validate(); err != nil || !s.Fresh {
			return err
		}
		return s.ValidateFresh()
	case Append, WAL, Tree:
	case Command:
		if err := s.Command.validate(); err != nil {
			return err
		}
	case HTTP:
		if s.HTTP == nil {
			return errors.New("http: no requests are given")
		}
		return s.HTTP.Validate()
	case Stage:
		if len(s.Jobs) == 0 {
			return errors.New("jobs: a stage needs at least one")
		}
		for _, j := range s.Jobs {
			if err := j.Planned().Validate(); err != nil {
				return fmt.Errorf("job %s: %w", j.Name, err)
			}
		}
		return nil
	default:
		return fmt.Errorf("kind: %q is not one of block, append, wal, tree, command", s.Kind)
	}
	if s.Reads != "" && s.Reads != Cold && s.Reads != Warm {
		return fmt.Errorf("reads: %q is neither %s nor %s", s.Reads, Cold, Warm)
	}
	if s.Count < 0 || s.Count > MaxCount {
		return fmt.Errorf("count: %d is not between 1 and %d", s.Count, MaxCount)
	}
	if s.BS < 0 || s.BS > MaxBS {
		return fmt.Errorf("bs: %d is not between 1 and %d bytes", s.BS, MaxBS)
	}
	if s.Runtime < 0 {
		return fmt.Errorf("runtime: %v is negative", s.Runtime)
	}
	return nil
}

// ValidateFresh returns an error for settings that a growing file can't have.
func (s Spec) ValidateFresh() error {
	switch j := s.Job; {
	case j.RW != load.Write:
		return errors.New("fresh: only a job with rw: write makes its file as it goes")
	case j.Filename != "":
		return fmt.Errorf("fresh: %s exists already", j.Filename)
	case j.Offset > 0 || j.NumJobs > 1 || j.Runtime > 0 || j.Loops > 1 || s.Steady.Round > 0:
		return errors.New("fresh: the file is written once from its beginning: leave out offset, numjobs, runtime, loops and steady_state")
	}
	return nil
}

// A PartialError is the error of a workload that stopped early, and how far it got.
type PartialError struct {
	// Done holds the time, operations and bytes of the measured window so far.
	Done load.Sample
	Err  error
}

// Error implements error.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PartialError) Unwrap() error { return e.Err }
