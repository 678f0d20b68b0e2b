package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Folders are where a workload works.
type Folders struct {
	// Work is the folder in the place: for logs, the files of block jobs, and the output of tree and command.
	Work string
	// Source is the place that tree and command read. Empty: Work.
	Source string
}

// SourceDir is the folder that holds the sources.
func (f Folders) SourceDir() string {
	if f.Source != "" {
		return f.Source
	}
	return f.Work
}

// How sources are read (Spec.Reads).
const (
	// Cold: they were dropped from the page cache before the window.
	Cold = "cold"
	// Warm: all of them were read once before the window.
	Warm = "warm"
)

// SourceState describes the sources of tree and command when the window begins, if Spec.Reads is set.
type SourceState struct {
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	// Resident is the share of Bytes that was in the page cache, 0 to 1; -1: unknown.
	Resident float64 `json:"resident"`
}

// A Source is a folder of files that a workload reads.
type Source struct {
	Dir string
	// State is filled in by Prepare if it is given reads.
	State *SourceState
	// Write makes the files in dir; nil: there are none.
	Write func(ctx context.Context, dir string) error
}

// Prepare makes the files unless an earlier trial did, and drops them from the page cache or reads them into it, as reads
// asks. It returns how long making them took.
func (s *Source) Prepare(ctx context.Context, reads string) (made time.Duration, err error) {
	start := time.Now()
	// Finished sources have a mark, written last. Sources without it are made again.
	mark := s.Dir + ".done"
	if _, err := os.Stat(mark); err != nil {
		if err := s.make(ctx); err != nil {
			return 0, errors.Join(fmt.Errorf("lay out the source files: %w", err), os.RemoveAll(s.Dir))
		}
		if err := os.WriteFile(mark, nil, 0o644); err != nil {
			return 0, err
		}
		made = time.Since(start)
	}
	var each func(f *os.File) error
	switch reads {
	case Cold:
		each = dropCached
	case Warm:
		each = func(f *os.File) error { _, err := io.Copy(io.Discard, f); return err }
	default:
		return made, nil // Even examining them would change what the kernel caches of them.
	}
	s.State = &SourceState{}
	if err := s.visit(ctx, each); err != nil {
		return made, fmt.Errorf("make the source files %s: %w", reads, err)
	}
	return made, s.look(ctx)
}

// make writes the files, and waits until they are stored: none of their writes may fall into a measured window.
func (s *Source) make(ctx context.Context) error {
	if err := os.RemoveAll(s.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	if s.Write == nil {
		return nil
	}
	if err := s.Write(ctx, s.Dir); err != nil {
		return err
	}
	return syncFolder(s.Dir)
}

// look notes how many files there are, and how much of them is in the page cache.
func (s *Source) look(ctx context.Context) error {
	resident, known := int64(0), true
	err := s.visit(ctx, func(f *os.File) error {
		st, err := f.Stat()
		if err != nil {
			return err
		}
		s.State.Files++
		s.State.Bytes += st.Size()
		n, ok := cachedBytes(f, st.Size())
		resident, known = resident+n, known && ok
		return nil
	})
	s.State.Resident = -1
	if known && s.State.Bytes > 0 {
		s.State.Resident = min(1, float64(resident)/float64(s.State.Bytes))
	}
	return err
}

// visit opens every file and calls f.
func (s *Source) visit(ctx context.Context, f func(*os.File) error) error {
	return filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		file, err := openToSync(path)
		if err != nil {
			return err
		}
		return errors.Join(f(file), file.Close())
	})
}
