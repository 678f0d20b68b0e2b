package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/load"
)

// A claim is a file that was examined and may be used. It stays open from then on, so that the same file is written and
// marked even if its path leads elsewhere by then.
type claim struct {
	file *os.File
	// laidOut: the stage wrote its data. own: it is Plimsoll's, and is marked at the end. remove: it is removed at the end.
	laidOut, own, remove bool
	// others: another program may have written to it. state is its state when Plimsoll was done with it before the job;
	// watch watches it since it was opened for that.
	others bool
	state  string
	watch  int32
	// opened: another program opened it while the jobs ran, maybe only to read it. state is then that of the jobs' end.
	opened bool
}

// known is what is known of a file besides its mark: the session's note on it (see ours), and whether another program has
// it open for writing.
type known struct {
	remembered string
	busy       bool
}

// claim makes one file of a job ready, unless an earlier job of the stage has laid it out.
func (s *stageRun) claim(ctx context.Context, j *StageJob, path string) error {
	old := s.claims[path]
	if old != nil && old.laidOut {
		return nil
	}
	c, err := j.claim(ctx, path, known{s.marks[path], j.Job.Writes() && openedElsewhere(path) && !s.opened(path)})
	if err != nil {
		return err
	}
	c.own = c.laidOut || c.own && j.Job.Writes()
	c.settle()
	c.remove = j.Remove && c.laidOut
	if old != nil {
		if !sameFile(old.file, c.file) {
			return errors.Join(&load.ReplacedError{Path: path}, c.file.Close())
		}
		old.laidOut, old.own, old.remove = c.laidOut, old.own || c.own, c.remove
		old.others, old.state = old.others || c.others, c.state
		return c.file.Close()
	}
	s.claims[path] = c
	return nil
}

func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// opened reports whether the stage itself has the file at path open.
func (s *stageRun) opened(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, c := range s.claims {
		if own, err := c.file.Stat(); err == nil && os.SameFile(st, own) {
			return true
		}
	}
	return false
}

// settle notes the state of Plimsoll's own file before anything runs. A file that was laid out is aged, so that a write in
// the same tick of the clock shows.
func (c *claim) settle() {
	if !c.own {
		return
	}
	var err error
	if c.laidOut {
		err = age(c.file, time.Now().Add(-markAge))
	}
	if err == nil {
		c.state, err = exactState(c.file)
	}
	c.others = c.others || err != nil
}

// guard begins to watch the stage's own files, after the stage has opened them all, and checks that they are still as
// noted.
func (s *stageRun) guard() {
	s.opens = newOpens()
	for _, c := range s.claims {
		if !c.own {
			continue
		}
		c.watch = s.opens.add(c.file.Fd())
		state, err := exactState(c.file)
		c.others = c.others || err != nil || state != c.state
	}
}

// mark marks the stage's own files as Plimsoll's, once, and returns the Marks of those that can't be marked. A file that
// another program may have written to is no longer Plimsoll's: others are the paths of those.
func (s *stageRun) mark() (marks Marks, others []string) {
	marks = Marks{}
	for path, c := range s.claims {
		if !c.own {
			continue
		}
		var opened, written bool
		if s.opens != nil {
			opened, written = s.opens.seen(c.watch)
		}
		if opened && !c.opened && !c.others && !written {
			c.opened = true
			var err error
			c.state, err = exactState(c.file)
			_, can := getMark(c.file)
			c.others = err != nil || !can // What a session has to remember must be in the result, which is made now.
		}
		if c.own = c.opened && !c.others && !written; c.own {
			continue // See markRead.
		}
		if c.others || written {
			others = append(others, path)
			continue
		}
		if state := mark(c.file); state != "" {
			marks[path] = state
		}
	}
	slices.Sort(others)
	return marks, others
}

// markRead marks the files that other programs only read while the jobs ran. Whether another program has one open for
// writing can be seen only after the stage has closed its own files.
func (s *stageRun) markRead() {
	for _, c := range s.claims {
		if c.own && !c.remove && c.unwritten() {
			mark(c.file)
		}
	}
}

// release removes files that are to be removed, if they are still at their paths, and closes all.
func (s *stageRun) release() error {
	var errs []error
	for path, c := range s.claims {
		st, err := c.file.Stat()
		errs = append(errs, err, c.file.Close())
		if !c.remove || err != nil {
			continue
		}
		if there, err := os.Lstat(path); err != nil || !os.SameFile(st, there) {
			continue // It was removed, or another file has its name.
		}
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	clear(s.claims)
	return errors.Join(errs...)
}

// MakeFile returns the open file at path, which may be overwritten and has size bytes; it lays out a missing one.
// Overwriting data that Plimsoll did not write needs an entry in allowed, else the error is an *OverwriteError. The caller
// writes to the file and closes it. own means that the file is Plimsoll's, and that the caller must call MarkFile after
// writing. A file of another program that was overwritten with permission is not Plimsoll's: it needs permission each time.
func MakeFile(ctx context.Context, path string, size int64, allowed []string) (f *os.File, own bool, err error) {
	j := StageJob{Name: "verify", Size: size, Destructive: allowed, Job: load.Job{RW: load.Write}}
	c, err := j.claim(ctx, path, known{busy: openedElsewhere(path)})
	if err != nil {
		return nil, false, err
	}
	own = (c.laidOut || c.own) && !c.others
	if own && c.laidOut {
		mark(c.file)
	}
	return c.file, own, nil
}

// MarkFile records that the file's data is Plimsoll's, so that it may be overwritten.
func MarkFile(f *os.File) { mark(f) }

// claim makes one file ready: it examines it, and lays it out if needed. A file that may be overwritten by permission stays
// the user's, even after the job has written to it: they may have allowed it for a few blocks of many.
func (j *StageJob) claim(ctx context.Context, path string, k known) (*claim, error) {
	fail := func(f *os.File, err error) (*claim, error) {
		if f != nil {
			f.Close()
		}
		var over *OverwriteError
		var missing *MissingError
		if !errors.As(err, &over) && !errors.As(err, &missing) {
			err = fmt.Errorf("job %s: %w", j.Name, err)
		}
		return nil, err
	}
	f, st, err := j.look(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && j.Exist == Must:
		return fail(nil, &MissingError{j.Name, path, j.unmade()})
	case errors.Is(err, os.ErrNotExist) && j.Size == 0 && !j.Truncate && !j.AtEnd:
		return fail(nil, &MissingError{j.Name, path, "; give a size to have it made"})
	case errors.Is(err, os.ErrNotExist):
		return j.make(ctx, path, fail)
	case err != nil:
		return fail(f, err)
	case j.Exist == MustNot:
		return fail(f, fmt.Errorf("%s exists already", path))
	}
	c := &claim{file: f}
	empty := st.Mode().IsRegular() && st.Size() == 0
	if j.outgrown(f, st, k) {
		err := j.cut(f, path)
		f.Close()
		if err != nil {
			return fail(nil, err)
		}
		return j.make(ctx, path, fail)
	}
	if !empty || j.Size == 0 && !j.Truncate && !j.Extend {
		if c.own, err = j.existing(f, path, st, k); err != nil {
			return fail(f, err)
		}
	}
	switch {
	case !st.Mode().IsRegular():
		return c, nil
	case j.Truncate || j.Extend && empty:
		if err := f.Truncate(j.Keep); err != nil {
			if w, werr := openLook(path, true); werr != nil {
				err = werr // It was opened only for reading: see look.
			} else {
				w.Close()
			}
			return fail(f, err)
		}
		// If data of another program's file is kept, the file stays that program's.
		c.laidOut = c.own || empty || j.Keep == 0
		return c, nil
	case empty && j.Size > 0:
		f.Close()
		return j.make(ctx, path, fail)
	}
	return c, nil
}

// tooShort reports whether a file ends before the job's region does, and the job doesn't make it longer itself.
func (j *StageJob) tooShort(st os.FileInfo) bool {
	return st.Mode().IsRegular() && st.Size() < j.Size && !j.Truncate && !j.Extend
}

// outgrown reports whether a file is Plimsoll's own, and shorter than the job needs.
func (j *StageJob) outgrown(f *os.File, st os.FileInfo, k known) bool {
	own, _ := ours(f, k)
	return own && st.Size() > 0 && j.tooShort(st)
}

// cut empties Plimsoll's own file, which is laid out anew.
func (j *StageJob) cut(f *os.File, path string) error {
	if err := device.FileNotInUse(f); err != nil {
		return err
	}
	w, err := openLook(path, true)
	if err != nil {
		return err
	}
	defer w.Close()
	if !sameFile(f, w) {
		return &load.ReplacedError{Path: path}
	}
	return w.Truncate(0)
}

// look opens the file at path for j, if it is a regular file or a block device. It checks the opened file, not the path.
func (j *StageJob) look(path string) (*os.File, os.FileInfo, error) {
	// Opening some devices has effects: a terminal, or a tape.
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	usable := func(st os.FileInfo) error {
		if m := st.Mode(); !m.IsRegular() && m.Type() != os.ModeDevice {
			return fmt.Errorf("%s is neither a regular file nor a block device", path)
		}
		return nil
	}
	if err := usable(st); err != nil {
		return nil, nil, err
	}
	f, err := openLook(path, j.Job.Writes() && st.Mode().IsRegular())
	if err != nil && j.Job.Writes() {
		// A file without write permission is examined, too: if its data is another program's, that is the error to report.
		if r, rerr := openLook(path, false); rerr == nil {
			f, err = r, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = usable(st)
	}
	if err == nil && j.Job.Writes() && st.Mode().IsRegular() {
		err = notStorage(f)
	}
	return f, st, err
}

// make makes a missing file, or lays out an empty one.
func (j *StageJob) make(ctx context.Context, path string, fail func(*os.File, error) (*claim, error)) (*claim, error) {
	if err := noRoom(path); err != nil {
		return fail(nil, err)
	}
	if j.Parents {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fail(nil, err)
		}
	}
	if j.Truncate || j.Extend {
		f, err := createNew(path)
		if err == nil && j.Keep > 0 {
			err = f.Truncate(j.Keep)
		}
		if err != nil {
			return fail(f, err)
		}
		return &claim{file: f, laidOut: true}, nil
	}
	during, watch := newOpens(), int32(0)
	defer during.close()
	f, _, err := load.LayoutFile(ctx, path, j.Size, load.LayoutOptions{Seed: j.Job.RandSeed ^ j.Job.DataSeed, Opened: func(fd uintptr) { watch = during.add(fd) }})
	if err != nil {
		return fail(f, err)
	}
	others, _ := during.seen(watch)
	return &claim{file: f, laidOut: true, others: others}, nil
}

// existing judges a device, or a file with data, and reports whether it is Plimsoll's own.
func (j *StageJob) existing(f *os.File, path string, st os.FileInfo, k known) (own bool, err error) {
	if !j.Job.Writes() || j.FilesOnly {
		return false, j.enough(path, st)
	}
	what := "a block device"
	if st.Mode().IsRegular() {
		var why string
		own, why = ours(f, k)
		what = fmt.Sprintf("a file of %d bytes%s", st.Size(), why)
	}
	if !own && !Allowed(path, j.Destructive) {
		return false, &OverwriteError{j.Name, path, what}
	}
	if err := j.enough(path, st); err != nil {
		return own, err
	}
	// Even with permission: it may be mounted, used for swap, or under another device.
	return own, device.FileNotInUse(f)
}

// enough returns an error for a file that is shorter than the job needs.
func (j *StageJob) enough(path string, st os.FileInfo) error {
	if j.tooShort(st) {
		return fmt.Errorf("%s has %d bytes, but the job needs %d; remove it or give another filename", path, st.Size(), j.Size)
	}
	return nil
}
