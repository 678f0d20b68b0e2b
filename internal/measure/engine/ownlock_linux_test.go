package engine

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holderState names the state folder in which TestHolder notes a session, for a test that kills it.
const holderState = "PLIMSOLL_TEST_JOURNAL"

func TestHolder(t *testing.T) {
	state := os.Getenv(holderState)
	if state == "" {
		return // Only TestSweepOtherNamespace starts it in earnest.
	}
	folder := ownFolder(state, "s")
	if err := journalIn(state).note(leftover{ID: "s", Engine: "host", Owner: Self(), Paths: []string{folder}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("noted\n")
	time.Sleep(time.Minute)
}

// TestSweepOtherNamespace: whether a plimsoll in another PID namespace lives can be told, so
// that what a killed one left is removed before the next boot.
func TestSweepOtherNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root is needed for a PID namespace")
	}
	state := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHolder$")
	cmd.Env = append(os.Environ(), holderState+"="+state)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "noted\n" {
		t.Fatalf("%q, %v", line, err)
	}
	j := journalIn(state)
	if did, err := j.sweep("host"); err != nil || len(did) > 0 {
		t.Errorf("sweep = %v, %v while the owner lives, want nothing", did, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	did, err := j.sweep("host")
	if err != nil || len(did) != 1 || !strings.Contains(did[0], ownFolder(state, "s")) {
		t.Errorf("sweep = %v, %v after the owner's end, want its folder", did, err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "*", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestOwnLockEnds: the lock's file goes with the last session of a living process.
func TestOwnLockEnds(t *testing.T) {
	j := journalIn(t.TempDir())
	for _, id := range []string{"a", "b"} {
		if err := j.note(leftover{ID: id, Engine: "host", Owner: Self()}); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range []string{"a", "b", "b"} {
		if ls, err := j.stale("host"); err != nil || len(ls) > 0 {
			t.Errorf("stale() = %v, %v while the owner lives", ls, err)
		}
		if err := j.forget(id); err != nil {
			t.Error(err)
		}
		locks, _ := filepath.Glob(filepath.Join(j.dir, "*"+lockSuffix))
		if want := max(0, 1-i); len(locks) != want {
			t.Errorf("%d locks after forgetting %d sessions, want %d", len(locks), i+1, want)
		}
	}
}

// TestOwnLockBesideASweep: a sweep may take a new lock's file for a dead owner's before it is locked, and
// remove it. The session is noted all the same.
func TestOwnLockBesideASweep(t *testing.T) {
	j := journalIn(t.TempDir())
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stop, swept := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				swept <- nil
				return
			default:
			}
			if err := j.dropLocks(); err != nil {
				swept <- err
				return
			}
		}
	}()
	for range 2000 {
		if err := j.note(leftover{ID: "a", Engine: "host", Owner: Self()}); err != nil {
			t.Errorf("note = %v", err)
			break
		}
		if err := j.forget("a"); err != nil {
			t.Errorf("forget = %v", err)
			break
		}
	}
	close(stop)
	if err := <-swept; err != nil {
		t.Errorf("dropLocks = %v", err)
	}
}
