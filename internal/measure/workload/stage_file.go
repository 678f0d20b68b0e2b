package workload

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"plimsoll/internal/text/clean"
	"plimsoll/load"
)

// ErrOverwrite is matched by refusals to write over data that Plimsoll did not write, or to something that is no storage,
// also if they came from a worker.
var ErrOverwrite = errors.New("would write over data that Plimsoll did not make")

// An OverwriteError refuses to write over data that Plimsoll did not write.
type OverwriteError struct {
	// Job and Path name the job and its file; What is "a file of 4096 bytes that Plimsoll did not make", "a block device".
	Job, Path, What string
}

// Error implements error.
func (e *OverwriteError) Error() string {
	return fmt.Sprintf("%s: job %s would write over %s; allow it with --destructive %s", clean.Name(e.Path), e.Job, e.What, clean.Shell(e.Path))
}

// Is reports whether target is ErrOverwrite.
func (e *OverwriteError) Is(target error) bool { return target == ErrOverwrite }

// A NoStorageError refuses to write where no data is kept, even with permission.
type NoStorageError struct{ Text string }

// Error implements error.
func (e *NoStorageError) Error() string { return e.Text }

// Is reports whether target is ErrOverwrite.
func (e *NoStorageError) Is(target error) bool { return target == ErrOverwrite }

// ErrMissing is matched by errors of files that don't exist and can't be made, also if they came from a worker.
var ErrMissing = errors.New("a file does not exist")

// A MissingError is a job's file that doesn't exist, and isn't made.
type MissingError struct {
	// Job and Path name the job and its file. Why says why the file isn't made, and begins with its separator.
	Job, Path, Why string
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("job %s: %s does not exist%s", e.Job, e.Path, e.Why)
}

// unmade says why a missing file isn't made.
func (j *StageJob) unmade() string {
	if j.Job.Writes() {
		return ", and is not to be made"
	}
	return ", and is to be read"
}

// Is reports whether target is ErrMissing.
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// files makes the paths of a job absolute, lays out missing files, and refuses to overwrite data that isn't Plimsoll's.
func (s *stageRun) files(ctx context.Context, j *StageJob, dir string) error {
	if j.Job.IOEngine == load.Null {
		return nil
	}
	abs := func(p string) string {
		if filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(dir, p)
	}
	j.Destructive = slices.Clone(j.Destructive)
	for i, p := range j.Destructive {
		j.Destructive[i] = abs(p)
	}
	if j.Dir != "" {
		if err := j.list(abs(j.Dir)); err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
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
	for i, p := range paths {
		one := *j
		if len(j.Sizes) > 0 {
			one.Size = j.Sizes[i]
		}
		if err := s.claim(ctx, &one, p); err != nil {
			return err
		}
	}
	return nil
}

// Allowed reports whether --destructive allows writing over path. It is the only code that interprets that flag: its paths
// may be spelled in any way, and name a file by its absolute path.
func Allowed(path string, allowed []string) bool {
	absolute := func(p string) string {
		if a, err := filepath.Abs(p); err == nil {
			return a
		}
		return filepath.Clean(p)
	}
	path = absolute(path)
	return slices.ContainsFunc(allowed, func(l string) bool { return l != "" && absolute(l) == path })
}
