package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// TestInstallWhileForking: a worker can be run as soon as it is installed, whatever else this process
// starts meanwhile. Without the lock, one of these would inherit the file while it is open to write, and the
// kernel would refuse to run it: text file busy.
func TestInstallWhileForking(t *testing.T) {
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	// Larger programs are longer open to write: what is behind an ELF program doesn't matter to it.
	program = append(program, make([]byte, 4<<20)...)
	ctx, cancel := context.WithCancel(t.Context())
	var forks sync.WaitGroup
	for range 4 {
		forks.Go(func() {
			for ctx.Err() == nil {
				_ = exec.Command("/bin/true").Run() // What it does is not what is tested.
			}
		})
	}
	defer forks.Wait()
	defer cancel()
	for range 200 {
		path := filepath.Join(t.TempDir(), "worker")
		if err := writeProgram(path, program); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(path).Run(); err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
	}
}

// TestInstallBesideSweep: a worker is installed while other processes sweep the state folder. A sweep could remove the
// temporary file before it was renamed, and the install failed.
func TestInstallBesideSweep(t *testing.T) {
	state := t.TempDir()
	folder := filepath.Join(state, "cache", "worker-0")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var sweeps sync.WaitGroup
	for range 2 {
		sweeps.Go(func() {
			for ctx.Err() == nil {
				_, _ = sweepWorkers(state) // What it removes is not what is tested.
			}
		})
	}
	defer sweeps.Wait()
	defer cancel()
	for range 200 {
		if err := writeProgram(filepath.Join(folder, "worker"), []byte("a program")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSweepWorkers: a sweep finds half-installed workers in a state folder of any name, and without a state folder it
// removes nothing. The folder's name was a pattern of names, and without one the sweep was of the working folder.
func TestSweepWorkers(t *testing.T) {
	state := filepath.Join(t.TempDir(), "a[b]")
	t.Chdir(t.TempDir())
	for _, folder := range []string{filepath.Join(state, "cache/worker-0"), "cache/worker-0"} {
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, ".worker-1"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for in, want := range map[string][]string{"": nil, state: {filepath.Join(state, "cache/worker-0/.worker-1")}} {
		if removed, err := sweepWorkers(in); err != nil || !slices.Equal(removed, want) {
			t.Errorf("sweepWorkers(%q) = %q, %v, want %q", in, removed, err, want)
		}
	}
}
