package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A tree is a runtime's folder of containers: each has a folder at some depth below root, in which a file appears when the container
// has a process.
type tree struct {
	f *Finder
	// name is its name in a sentence.
	name string
	root string
	// levels are patterns of the folders between root and the file; "*" is any.
	levels []string
	// file is the file with the process.
	file string
	// load reads the container of this folder. The error is fs.ErrNotExist if the container was removed meanwhile, which is no
	// fault.
	load func(dir string) (Target, error)
	// known lists the folders of all containers, also of those without a process; nil for those below root.
	known func() ([]string, error)
	// label adds facts that are not in the files; nil adds nothing.
	label func(ctx context.Context, ts []Target)
	// ours reports whether this source reports a container's events.
	ours func(t Target) bool
	// of are the engines whose containers may be here.
	of []Engine
}

func (s *tree) what() string      { return s.name + " in " + s.root }
func (s *tree) engines() []Engine { return s.of }

// dirs lists the containers' folders.
func (s *tree) dirs() ([]string, error) {
	if s.known != nil {
		return s.known()
	}
	if _, err := os.ReadDir(s.root); err != nil {
		return nil, s.unreadable(err)
	}
	return filepath.Glob(filepath.Join(append([]string{globEscape(s.root)}, s.levels...)...))
}

// unreadable returns why the folder can't be read.
func (s *tree) unreadable(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absentError{fmt.Errorf("%s has no folder %s here: %w", s.name, s.root, err)}
	case errors.Is(err, fs.ErrPermission):
		return &privateError{s.name, s.root, err}
	}
	return fmt.Errorf("%s: %w", s.name, err)
}

// globEscape escapes a path so that it matches only itself.
func globEscape(p string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}

// all reads every container. It leaves out those that can't be read, and returns the reasons beside the others.
func (s *tree) all() ([]Target, []error, error) {
	dirs, err := s.dirs()
	if err != nil {
		return nil, nil, err
	}
	var ts []Target
	var bad []error
	for _, dir := range dirs {
		t, err := s.load(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			bad = append(bad, fmt.Errorf("%s: %w", s.name, err))
		default:
			ts = append(ts, t)
		}
	}
	return ts, bad, nil
}

// find implements source.
func (s *tree) find(ctx context.Context, name string) ([]Target, error) {
	all, bad, err := s.all()
	if err != nil {
		return nil, err
	}
	var found []Target
	for _, t := range all {
		if t.answersTo(name) > 0 {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		// One that can't be read may be the one.
		return nil, errors.Join(bad...)
	}
	s.addLabels(ctx, found)
	return found, nil
}

// list implements source.
func (s *tree) list(ctx context.Context) ([]Target, error) {
	all, bad, err := s.all()
	if err != nil {
		return nil, err
	}
	var running []Target
	for _, t := range all {
		if t.Running && !t.Sandbox {
			running = append(running, t)
		}
	}
	s.addLabels(ctx, running)
	return running, errors.Join(bad...)
}

func (s *tree) addLabels(ctx context.Context, ts []Target) {
	if s.label != nil && len(ts) > 0 {
		s.label(ctx, ts)
	}
}
