package workload

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"plimsoll/internal/device"
	"plimsoll/load"
)

// ErrOverwrite is matched by refusals to write over data that Plimsoll did not write, also by those that came from a worker.
var ErrOverwrite = errors.New("would write over data that Plimsoll did not make")

// An OverwriteError is the refusal to write over data that Plimsoll did not write.
type OverwriteError struct {
	// Job and Path name the job and its file; What is "a file of 4096 bytes", "a block device".
	Job, Path, What string
}

// Error implements error.
func (e *OverwriteError) Error() string {
	return fmt.Sprintf("%s: job %s would write over %s that Plimsoll did not make; allow it with --destructive %s", e.Path, e.Job, e.What, e.Path)
}

// Is reports whether target is ErrOverwrite.
func (e *OverwriteError) Is(target error) bool { return target == ErrOverwrite }

// ErrMissing is matched by errors of files that aren't there and can't be made, also by those that came from a worker.
var ErrMissing = errors.New("a file does not exist")

// A MissingError is a job's file that isn't there, and isn't made.
type MissingError struct {
	// Job and Path name the job and its file; Why is why it isn't made, with what goes before it.
	Job, Path, Why string
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("job %s: %s does not exist%s", e.Job, e.Path, e.Why)
}

// unmade is why a file that has to be there isn't made.
func (j *StageJob) unmade() string {
	if j.Job.Writes() {
		return ", and is not to be made"
	}
	return ", and is to be read"
}

// Is reports whether target is ErrMissing.
func (e *MissingError) Is(target error) bool { return target == ErrMissing }

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
	j.Destructive = slices.Clone(j.Destructive)
	for i, p := range j.Destructive {
		j.Destructive[i] = abs(p)
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
		laidOut, own, err := stageFile(ctx, j, p)
		if err != nil {
			return err
		}
		made[p] = laidOut
		if laidOut || own && j.Job.Writes() {
			s.own = append(s.own, p)
		}
		if j.Remove && laidOut {
			s.remove = append(s.remove, p)
		}
	}
	return nil
}

// Allowed reports whether leave was given to write over path. It is the one reading of --destructive: leave holds
// paths of whatever spelling, and names a file by its absolute path.
func Allowed(path string, leave []string) bool {
	absolute := func(p string) string {
		if a, err := filepath.Abs(p); err == nil {
			return a
		}
		return filepath.Clean(p)
	}
	path = absolute(path)
	return slices.ContainsFunc(leave, func(l string) bool { return l != "" && absolute(l) == path })
}

// MakeFile makes sure that there is a file of size bytes at path that may be written over: one is laid out if
// there is none. Over data that Plimsoll did not write it needs leave: else it is an *OverwriteError. own: the file is Plimsoll's, and
// MarkFile is to be called when it was written. One that was written by leave is not: it needs leave each time.
func MakeFile(ctx context.Context, path string, size int64, leave []string) (own bool, err error) {
	j := StageJob{Name: "verify", Size: size, Destructive: leave, Job: load.Job{RW: load.Write}}
	made, own, err := stageFile(ctx, &j, path)
	if made && err == nil {
		mark(path)
	}
	return made || own, err
}

// MarkFile notes that what the file holds is Plimsoll's, so that it may be written again.
func MarkFile(path string) { mark(path) }

// stageFile makes one file ready. It reports whether it had to lay it out, and whether the file was Plimsoll's own: what
// a job wrote by leave stays the user's, who may have given it for a few blocks of many.
func stageFile(ctx context.Context, j *StageJob, path string) (laidOut, own bool, err error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && j.Exist == Must:
		return false, false, &MissingError{j.Name, path, j.unmade()}
	case err == nil && j.Exist == MustNot:
		return false, false, fmt.Errorf("job %s: %s exists already", j.Name, path)
	case errors.Is(err, os.ErrNotExist) && j.Size == 0 && !j.Truncate:
		return false, false, &MissingError{j.Name, path, "; give a size, and it is made"}
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return false, false, fmt.Errorf("job %s: %w", j.Name, err)
	case st.Mode().Type() == os.ModeDevice:
		if j.Job.Writes() && !Allowed(path, j.Destructive) {
			return false, false, &OverwriteError{j.Name, path, "a block device"}
		}
		return false, false, j.notInUse(path)
	case !st.Mode().IsRegular():
		return false, false, fmt.Errorf("job %s: %s is neither a regular file nor a block device", j.Name, path)
	case st.Size() == 0 && j.Size > 0:
	case st.Size() == 0 && (j.Truncate || j.Extend):
	default:
		if own, err = existing(j, path, st.Size()); err != nil {
			return false, false, err
		}
		if err := j.notInUse(path); err != nil || !j.Truncate {
			return false, own, err
		}
	}
	if j.Truncate || j.Extend {
		if err := truncate(path); err != nil {
			return false, false, fmt.Errorf("job %s: %w", j.Name, err)
		}
		return true, own, nil
	}
	_, err = load.Layout(ctx, path, j.Size, load.LayoutOptions{Seed: j.Job.RandSeed})
	if err != nil {
		return false, false, fmt.Errorf("job %s: %w", j.Name, err)
	}
	return true, own, nil
}

// notInUse refuses to write to what is mounted, swapped to, or under another device, whatever leave
// was given.
func (j *StageJob) notInUse(path string) error {
	if !j.Job.Writes() {
		return nil
	}
	if err := device.NotInUse(path); err != nil {
		return fmt.Errorf("job %s: %w", j.Name, err)
	}
	return nil
}

// truncate makes an empty file.
func truncate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// existing judges a file that holds something already, and reports whether that is Plimsoll's own.
func existing(j *StageJob, path string, size int64) (own bool, err error) {
	if j.Job.Writes() {
		own = ours(path, size)
	}
	if j.Job.Writes() && !own && !Allowed(path, j.Destructive) {
		return own, &OverwriteError{j.Name, path, fmt.Sprintf("a file of %d bytes", size)}
	}
	if size < j.Size && !j.Truncate && !j.Extend {
		return own, fmt.Errorf("job %s: %s has %d bytes, but the job needs %d; remove it or give another filename", j.Name, path, size, j.Size)
	}
	return own, nil
}

// diskspdPattern is how the blocks begin that diskspd writes by default: the bytes 0, 1, 2 and so on.
const diskspdPattern = 0x0706050403020100

// ours reports whether a file of size bytes holds what Layout or a job wrote, and nothing that somebody wrote since: it has a
// mark that says so. Only where the file system has no marks is it known by what its blocks begin with.
func ours(path string, size int64) bool {
	if can, same := marked(path); can {
		return same
	}
	return stamped(path, size)
}

// stamped reports whether blocks of a file, spread over it, all begin with their own offset, or with diskspd's pattern. Sixteen
// of them are no coincidence; a file of fewer blocks isn't known so, for the first block's offset is 0, as many files begin.
// More are looked at for what was written between them since: all of a file of 1 MiB.
func stamped(path string, size int64) bool {
	const unit, least, most = 4096, 16, 256
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	units := size / unit
	if units < least {
		return false
	}
	probes := min(units, most)
	for i := range probes {
		off := i * units / probes * unit
		var p [8]byte
		if _, err := f.ReadAt(p[:], off); err != nil {
			return false
		}
		if n := int64(binary.LittleEndian.Uint64(p[:])); n != off && n != diskspdPattern {
			return false
		}
	}
	return true
}
