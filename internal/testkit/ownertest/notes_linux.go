package ownertest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"plimsoll/internal/state/filelock"
)

// EnvFolder names another folder for the notes, for tests of Sweep.
const EnvFolder = "PLIMSOLL_TEST_NOTES"

// temporary is the folder for temporary files at the start of the process. A test may set another, and check everything in it.
var temporary = os.TempDir()

func folder() string {
	if dir := os.Getenv(EnvFolder); dir != "" {
		return dir
	}
	return temporary
}

// Notes record the things of one kind.
type Notes struct {
	// Kind is a part of the name of the files.
	Kind string
	// Remove removes a thing that an ended process noted, and everything that depends on it. It is no error if the thing doesn't
	// exist.
	Remove func(what string) error

	swept sync.Once
	mu    sync.Mutex
	// file is this process's file, nil while nothing is noted.
	file *os.File
	// there counts the things that are noted and not removed yet.
	there int
}

// Add notes a thing that the test is about to make, until the test's end. The function that removes it must be registered with
// t.Cleanup later. The first Add of a process removes the things of ended processes.
func (n *Notes) Add(t testing.TB, what string) {
	t.Helper()
	n.swept.Do(func() { n.Sweep(t) })
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		f, err := filelock.Create(folder(), n.prefix()+"*")
		if err != nil {
			t.Fatalf("note what the test makes: %v", err)
		}
		n.file = f
	}
	n.there++
	t.Cleanup(func() { n.done(t) })
	if _, err := fmt.Fprintf(n.file, "%q\n", what); err != nil {
		t.Fatalf("note %s: %v", what, err)
	}
}

// done removes the file when the last thing in it was removed.
func (n *Notes) done(t testing.TB) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.there--; n.there > 0 {
		return
	}
	if err := filelock.Remove(n.file); err != nil {
		t.Errorf("remove the notes: %v", err)
	}
	n.file = nil
}

// Sweep removes the things that ended processes of this user noted. A thing that can't be removed stays noted.
func (n *Notes) Sweep(t testing.TB) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder(), n.prefix()+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue // It is gone, or another user's.
		}
		if !own(f) || filelock.Alone(f) != nil {
			f.Close()
			continue
		}
		if err := n.sweepOne(t, f); err != nil {
			t.Logf("a killed test's leftovers stay: %v", err)
			f.Close()
		} else if err := filelock.Remove(f); err != nil {
			t.Logf("a killed test's notes stay: %v", err)
		}
	}
}

// sweepOne removes the things in a file of notes, the newest first, because it may depend on older ones.
func (n *Notes) sweepOne(t testing.TB, f *os.File) error {
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	var errs []error
	for _, line := range slices.Backward(strings.Split(string(text), "\n")) {
		// A line that was cut off was written before its thing was made.
		what, err := strconv.Unquote(line)
		if err != nil {
			continue
		}
		t.Logf("removing what a killed test left: %s", what)
		errs = append(errs, n.Remove(what))
	}
	return errors.Join(errs...)
}

func (n *Notes) prefix() string { return "plimsoll-notes-" + n.Kind + "-" }

// own reports whether a file is a regular one of this user. Any user may make one in the folder for temporary files.
func own(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}
