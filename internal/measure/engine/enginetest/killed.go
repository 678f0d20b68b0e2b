//go:build linux

package enginetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/leaktest"
)

// A Life is that of a process that opens a session and closes it, for a killtest.Test.
type Life struct {
	Name string
	// New makes the engine with a state folder, from what lies beside that folder.
	New func(state string) (engine.Engine, error)
	// Spec says what to open. Its paths and ID are each life's own.
	Spec engine.Spec
	// Shared is set if a sweep finds what other lives left as well.
	Shared bool
}

// Register must be called from an init function: see killtest.Life.
func (l Life) Register() { killtest.Life(l.Name, l.live) }

// live opens a session and closes it.
func (l Life) live(dir string) error {
	e, err := l.New(filepath.Join(dir, "state"))
	if err != nil {
		return err
	}
	spec, err := l.spec(dir)
	if err != nil {
		return err
	}
	s, err := e.Open(context.Background(), spec)
	if err != nil {
		return err
	}
	return s.Close(context.Background())
}

// spec is the Spec of the life in a folder.
func (l Life) spec(dir string) (engine.Spec, error) {
	spec := l.Spec
	spec.ID = SessionOf(dir)
	own := func(p *place.Spec, name string) error {
		if p.Kind != place.Dir && p.Kind != place.Bind {
			return nil
		}
		p.Path = filepath.Join(dir, name)
		return os.MkdirAll(p.Path, 0o755)
	}
	if spec.Source == nil {
		return spec, own(&spec.Place, "place")
	}
	source := *spec.Source
	spec.Source = &source
	return spec, errors.Join(own(&spec.Place, "place"), own(spec.Source, "sources"))
}

// SessionOf returns the ID of the session of the life in a folder, whose name is unique.
func SessionOf(dir string) string { return "killed-" + filepath.Base(dir) }

// After is what a killtest.Test does after each life: the next start's Sweep removes what is left, and a second one has nothing to do. may are the
// files of the state folder that may stay, by the beginnings of their paths.
func (l Life) After(t *testing.T, dir, at string, may ...string) {
	t.Helper()
	state := filepath.Join(dir, "state")
	e, err := l.New(state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Sweep(t.Context()); err != nil {
		t.Errorf("killed at %s: Sweep() = %v", at, err)
	}
	if again, err := e.Sweep(t.Context()); err != nil || len(again) > 0 && !l.Shared {
		t.Errorf("killed at %s: a second Sweep() = %q, %v", at, again, err)
	}
	if left := journaltest.Left(t, state); len(left) > 0 {
		t.Errorf("killed at %s: left recorded: %q", at, left)
	}
	// Everything of the worker on this machine ends when its input ends.
	var left []string
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left = append(leaktest.Find(SessionOf(dir)), processes(SessionOf(dir))...)
		if len(left) == 0 || time.Now().After(end) {
			break
		}
	}
	if left = append(left, filesLeft(t, dir, may)...); len(left) > 0 {
		t.Errorf("killed at %s: left behind:\n%s", at, strings.Join(left, "\n"))
	}
}

// filesLeft lists the files in the folders of a life that are neither the journal's nor begin with one of may.
func filesLeft(t *testing.T, dir string, may []string) (left []string) {
	t.Helper()
	for _, name := range []string{"state", "place", "sources"} {
		err := filepath.WalkDir(filepath.Join(dir, name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // It may be removed meanwhile.
			}
			rel, _ := filepath.Rel(dir, path)
			allowed := slices.ContainsFunc(append(may, "state/journal/"), func(m string) bool { return strings.HasPrefix(rel, m) })
			if half := strings.HasPrefix(filepath.Base(path), "."); err == nil && (half || !allowed) && (!d.IsDir() || strings.Contains(filepath.Base(path), engine.FolderPrefix)) {
				left = append(left, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return left
}

// processes lists the processes whose arguments name a session.
func processes(session string) (left []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), session) {
			left = append(left, path+": "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return left
}
