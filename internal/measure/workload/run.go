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

// A Runner is a prepared workload: its files are there, nothing was measured yet.
type Runner interface {
	// Run does the I/O and returns what was measured. onSample is called once each
	// load.SampleEvery: a second, less in a short window. Run is called once. One that is a Settler has to be
	// settled before its result counts.
	Run(ctx context.Context, onSample func(load.Sample)) (*Result, error)
	// Close frees what Prepare took, and removes the outputs of the run. Files
	// that the next trial in the same place can use again stay.
	Close() error
}

// A Judged is the Runner of a job with a steady state, which the caller may judge, together with other
// clients.
type Judged interface {
	Runner
	// OnRound, before Run, has every round told as it ends (its At is the end, from the beginning of the first), and
	// leaves it to Finish to end the job before its longest time.
	OnRound(tell func(load.Sample))
	// Finish ends the job; the result is that of steady.WindowRounds rounds from number from on, which have all
	// been told. Any goroutine may call it. What comes after the job's own end has no effect.
	Finish(from int)
}

// A Hanger is the Runner of a job whose I/Os may be in flight when its window ends.
type Hanger interface {
	Runner
	// OnHang, before Run, has tell called each second as long as they are, with the result as it would be if they never ended.
	OnHang(tell func(*Result))
}

// Prepare lays out what spec needs in dir.
func Prepare(ctx context.Context, spec Spec, dir string) (Runner, error) {
	return PrepareIn(ctx, spec, Folders{Work: dir})
}

// PrepareIn is Prepare with sources in a folder of their own.
func PrepareIn(ctx context.Context, spec Spec, f Folders) (Runner, error) {
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
	defaultAppends = 10_000 // E2's count.
	defaultLine    = 64
	defaultSources = 360 // A tenth of E1's 3,604 files.
	// defaultSource is the mean size of a source file of tree: E1's median, not its
	// mean of 77 KiB, which a few pictures make.
	defaultSource = 16 << 10
	// defaultCommit is the record of etcd's published fio job:
	// fio --rw=write --ioengine=sync --fdatasync=1 --size=22m --bs=2300.
	defaultCommit  = 2300
	defaultRuntime = time.Second
)

// WithDefaults fills in what spec leaves to the workload.
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

// Bounds of the named workloads: what one trial may sensibly do, and what keeps
// a mistyped plan from filling a disk.
const (
	MaxCount = 10_000_000
	MaxBS    = 64 << 20
)

// Validate reports what is wrong with s, in the plan's words. Block jobs are
// judged by load.Job.Validate.
func (s Spec) Validate() error {
	switch s.Kind {
	case Block, "":
		j := s.Job
		if j.Filename == "" {
			j.Filename = "block.dat" // The worker names it, in the place.
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
			return errors.New("http: nothing is asked")
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
		return fmt.Errorf("kind: %q is none of block, append, wal, tree, command", s.Kind)
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

// ValidateFresh reports what can't be done with a file that grows.
func (s Spec) ValidateFresh() error {
	switch j := s.Job; {
	case j.RW != load.Write:
		return errors.New("fresh: only a job of rw write makes its file as it goes")
	case j.Filename != "":
		return fmt.Errorf("fresh: %s is there already", j.Filename)
	case j.Offset > 0 || j.NumJobs > 1 || j.Runtime > 0 || j.Loops > 1 || s.Steady.Round > 0:
		return errors.New("fresh: the file is written once from its beginning: leave out offset, numjobs, runtime, loops and steady_state")
	}
	return nil
}

// A PartialError is a workload that broke off, with how far it got.
type PartialError struct {
	// Done holds the time, operations and bytes of the measured window so far.
	Done load.Sample
	Err  error
}

// Error implements error.
func (e *PartialError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PartialError) Unwrap() error { return e.Err }
