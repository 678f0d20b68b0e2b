package filelock

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// holderPath names the file that this program's child locks.
const holderPath = "PLIMSOLL_TEST_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(holderPath); path != "" {
		f, err := os.Open(path)
		if err == nil {
			err = Alone(f)
		}
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString("locked\n")
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// folder makes a folder for a lock. TempDir's way of removing one is not known to Wine 8.
func folder(t *testing.T) (dir, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "filelock-")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "lock")
	t.Cleanup(func() {
		if err := errors.Join(ignoreMissing(os.Remove(path)), os.Remove(dir)); err != nil {
			t.Error(err)
		}
	})
	return dir, path
}

// open opens a path and closes it at the end of the test.
func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestLocks(t *testing.T) {
	_, path := folder(t)
	a, b := open(t, path), open(t, path)
	if err := errors.Join(Shared(a), Shared(b)); err != nil {
		t.Fatalf("two share: %v", err)
	}
	if err := Alone(open(t, path)); !errors.Is(err, ErrLocked) {
		t.Errorf("Alone while two share it = %v, want ErrLocked", err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	c := open(t, path)
	if err := Alone(c); err != nil {
		t.Fatalf("Alone when they are gone: %v", err)
	}
	if err := Shared(open(t, path)); !errors.Is(err, ErrLocked) {
		t.Errorf("Shared while one has it alone = %v, want ErrLocked", err)
	}
	// The lock doesn't prevent reading and writing.
	if err := os.WriteFile(path, []byte("words"), 0o600); err != nil {
		t.Error(err)
	}
	if err := Remove(c); err != nil {
		t.Error(err)
	}
	if _, err := c.Write(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a write after Remove: %v, want that it is closed", err)
	}
}

func TestRemove(t *testing.T) {
	dir, path := folder(t)
	f := open(t, path)
	if err := Alone(f); err != nil {
		t.Fatal(err)
	}
	if err := Remove(f); err != nil {
		t.Errorf("Remove: %v", err)
	}
	// Its name is free for the next, which may be gone by itself.
	next := open(t, path)
	if err := Alone(next); err != nil {
		t.Errorf("Alone of a new file: %v", err)
	}
	if err := os.Remove(path); err != nil && runtime.GOOS != "windows" { // There an open one stays.
		t.Error(err)
	}
	if err := Remove(next); err != nil {
		t.Errorf("Remove of what may be gone: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestEndsWithTheProcess: a lock ends when its process is killed.
func TestEndsWithTheProcess(t *testing.T) {
	_, path := folder(t)
	f := open(t, path)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderPath+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if err := Shared(f); !errors.Is(err, ErrLocked) {
		t.Errorf("Shared while the child lives = %v, want ErrLocked", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if err := Shared(f); err != nil {
		t.Errorf("Shared after its end = %v", err)
	}
}

// TestHeld: asking leaves no lock behind, not even in a child that is being started, and neither does what another asks hinder one.
func TestHeld(t *testing.T) {
	_, path := folder(t)
	if _, err := Held(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	owner := open(t, path)
	if err := Alone(owner); err != nil {
		t.Fatal(err)
	}
	if held, err := Held(path); !held || err != nil {
		t.Errorf("while it is held: %v, %v", held, err)
	}
	owner.Close()
	over, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			default:
				exec.Command(os.Args[0], "-test.run=^$").Run()
			}
		}
	}()
	for range 20000 {
		held, err := Held(path)
		if held || err != nil {
			t.Errorf("nobody has it: %v, %v", held, err)
			break
		}
		syscall.ForkLock.RLock() // What is locked here is no child's either.
		f, err := os.Open(path)
		if err == nil {
			err = errors.Join(Alone(f), f.Close())
		}
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Errorf("after it was asked for: %v", err)
			break
		}
	}
	close(over)
	<-ended
}

// TestTake: only one of several owners gets the lock, and a file that its last owner removed doesn't count as locked.
func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := Take(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path, 0o600); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Take() = %v, want ErrLocked", err)
	}
	if err := Remove(f); err != nil {
		t.Fatal(err)
	}
	if f, err = Take(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := Take(filepath.Join(path, "x"), 0o600); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("Take() below a file = %v", err)
	}
}

// TestPrune: the files of killed processes are removed; locked files, and files with other names, stay.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"left.lock", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Take(filepath.Join(dir, "held.lock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	Prune(dir, func(name string) bool { return strings.HasSuffix(name, ".lock") })
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if err != nil || !slices.Equal(left, []string{"held.lock", "other"}) {
		t.Errorf("left %q, %v", left, err)
	}
}

// TestPruneLeavesAnother: the next owner has made its lock after the file of the last was opened to be pruned. It was removed, and the thing
// seemed to have no owner.
func TestPruneLeavesAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.lock")
	old, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	next, err := Take(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	prune(old)
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the next owner's lock: %v", err)
	}
}
