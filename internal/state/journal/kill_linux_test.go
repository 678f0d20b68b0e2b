package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// killedIn names the folder in which this program's child makes and unmakes things until it is killed.
const killedIn = "PLIMSOLL_TEST_KILLED_IN"

func init() {
	if os.Getenv(killedIn) != "" {
		runtime.LockOSThread() // strace counts the calls of each thread.
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(killedIn); dir != "" {
		if err := live(dir); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// undoThing removes a thing, which is a file.
func undoThing(_ context.Context, e Entry) ([]string, error) {
	var path string
	if err := json.Unmarshal(e.Payload, &path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return []string{e.ID}, nil
}

// live is a life of an owner with each kind of write: it adopts a thing, sweeps another, makes two, changes the record of one, and removes it. It
// prints which things are recorded from then on, with a plus, and which may be gone, with a minus.
func live(dir string) error {
	ctx := context.Background()
	j := Open(filepath.Join(dir, "journal"))
	thing := func(id string) string { return filepath.Join(dir, "things", id) }
	say := func(words string) { os.Stdout.WriteString(words + "\n") }
	say("-swept")
	if _, err := j.Sweep(ctx, map[string]Undo{"swept": undoThing}); err != nil {
		return err
	}
	if _, err := j.Adopt(ctx, "thing", "adopted"); err != nil {
		return err
	}
	for _, id := range []string{"a", "b"} {
		if err := j.Put(ctx, "thing", id, thing(id)); err != nil {
			return err
		}
		say("+" + id)
		if err := os.WriteFile(thing(id), nil, 0o600); err != nil {
			return err
		}
	}
	if err := j.Put(ctx, "thing", "a", thing("a")); err != nil {
		return err
	}
	for _, id := range []string{"b", "adopted"} {
		say("-" + id)
		if err := os.Remove(thing(id)); err != nil {
			return err
		}
		if err := j.Remove("thing", id); err != nil {
			return err
		}
	}
	return nil
}

// calls are the system calls by which a journal, or what it records, is changed.
var calls = []string{"openat", "mkdirat", "flock", "write", "fsync", "renameat", "unlinkat"}

// TestKilled: an owner is killed at every single call by which it changes something. The next finds each thing that was made, loses no record, and
// leaves nothing.
func TestKilled(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace: scripts/setup test")
	}
	var lives atomic.Int64
	t.Run("calls", func(t *testing.T) {
		for _, call := range calls { // strace counts each by itself.
			t.Run(call, func(t *testing.T) {
				t.Parallel()
				for n := 1; !t.Failed() && killedAt(t, call, n); n++ {
					lives.Add(1)
				}
			})
		}
	})
	if lives.Load() < 60 {
		t.Errorf("it was killed %d times, which are too few for what it does", lives.Load())
	}
	t.Logf("killed at each of %d calls", lives.Load())
}

// killedAt has a life end with the n-th call of a name, and looks at what it left. It is false if there are fewer of these calls in a whole life.
func killedAt(t *testing.T, call string, n int) (killed bool) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "things"), 0o700); err != nil {
		t.Fatal(err)
	}
	// Two things of an owner that is dead.
	dead := Open(filepath.Join(dir, "journal"))
	for kind, id := range map[string]string{"swept": "swept", "thing": "adopted"} {
		path := filepath.Join(dir, "things", id)
		if err := errors.Join(dead.Put(t.Context(), kind, id, path), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	die(t, dead)
	c := exec.Command("strace", "-f", "-o", "/dev/null", "-e", "trace="+call, "-e", "inject="+call+":signal=KILL:when="+strconv.Itoa(n), os.Args[0])
	c.Env = append(os.Environ(), killedIn+"="+dir, "GOMAXPROCS=1")
	said, err := c.Output()
	if err != nil && strings.Contains(string(said), "error:") {
		t.Fatalf("killed at %s %d: %s", call, n, said)
	}
	recorded := []string{"adopted", "swept"}
	var mayBeGone []string
	for line := range strings.Lines(string(said)) {
		switch id := strings.TrimSpace(line[1:]); line[0] {
		case '+':
			recorded = append(recorded, id)
		case '-':
			mayBeGone = append(mayBeGone, id)
		}
	}
	next := Open(filepath.Join(dir, "journal"))
	var found []string
	for _, kind := range []string{"swept", "thing"} {
		list, err := next.Entries(kind)
		if err != nil {
			t.Errorf("killed at %s %d: %v", call, n, err)
		}
		for _, e := range list {
			found = append(found, e.ID)
			if next.Alive(e) {
				t.Errorf("killed at %s %d: the owner of %s passes for alive", call, n, e.ID)
			}
		}
	}
	for _, id := range recorded {
		if !slices.Contains(found, id) && !slices.Contains(mayBeGone, id) {
			t.Errorf("killed at %s %d, after %q: the record of %s is lost", call, n, said, id)
		}
	}
	for range 2 { // The second has nothing to do.
		if _, err := next.Sweep(t.Context(), map[string]Undo{"swept": undoThing, "thing": undoThing}); err != nil {
			t.Errorf("killed at %s %d: %v", call, n, err)
		}
	}
	if left := files(t, dir); !slices.Equal(left, []string{"journal/lock"}) {
		t.Errorf("killed at %s %d, after %q: left behind: %q", call, n, said, left)
	}
	return err != nil
}
