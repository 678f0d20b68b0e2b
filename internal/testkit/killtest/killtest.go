// Package killtest kills a process at every single system call by which it changes something, so that a test can look at what is left.
//
// The process is the test's own program: Life, called from an init function, does in it what the test interrupts. strace(1) counts
// the calls of each name and injects SIGKILL at the n-th.
package killtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Environment variables of the process that is killed.
const (
	lifeName   = "PLIMSOLL_TEST_LIFE"
	lifeFolder = "PLIMSOLL_TEST_LIFE_FOLDER"
)

// Life has this program call live with a folder, and end, if it is the one that a Test of that name kills. It must be called from an init function,
// which runs on the thread that strace counts. What live prints is passed on to the test.
func Life(name string, live func(dir string) error) {
	if os.Getenv(lifeName) != name {
		return
	}
	runtime.LockOSThread()
	if err := live(os.Getenv(lifeFolder)); err != nil {
		fmt.Println(failed, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// failed begins the line of a life that ended by itself with an error.
const failed = "killtest: failed:"

// A Test is what is done around each life. Dir is a folder of each life's own.
type Test struct {
	Name string
	// Calls are the names of the system calls.
	Calls []string
	// Kinds are the kinds of the journal's entries that the process makes. The test fails if no killed one has left an entry of each.
	Kinds []string
	// Before prepares the folder, nil for nothing.
	Before func(t *testing.T, dir string)
	// After looks at what is left. at says in words where the life ended, and said is what it had printed.
	After func(t *testing.T, dir, at, said string)
}

// Run has a life end at each call, and looks at a whole one at last. It returns how many were killed. It skips a test without strace.
func (k Test) Run(t *testing.T) (killed int) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace: scripts/setup test")
	}
	var lives atomic.Int64
	var left sync.Map
	t.Run("calls", func(t *testing.T) {
		for _, call := range k.Calls {
			t.Run(call, func(t *testing.T) {
				t.Parallel()
				for n := 1; k.killedAt(t, call, n, &left) && !t.Failed(); n++ {
					lives.Add(1)
				}
			})
		}
	})
	for _, kind := range k.Kinds {
		if _, ok := left.Load(kind); !ok {
			t.Errorf("no process was killed while it had an entry of kind %s", kind)
		}
	}
	return int(lives.Load())
}

// note notes of which kinds there are entries in the journals of a folder and of the folders in it.
func (k Test) note(dir string, left *sync.Map) {
	for _, kind := range k.Kinds {
		for _, journal := range []string{"journal", "*/journal"} {
			if entries, _ := filepath.Glob(filepath.Join(dir, journal, kind, "*.json")); len(entries) > 0 {
				left.Store(kind, true)
			}
		}
	}
}

// Command returns the command that lives a life with a folder. Before are words that go before it, such as a tracer's.
func Command(name, dir string, before ...string) *exec.Cmd {
	argv := append(before, os.Args[0])
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), lifeName+"="+name, lifeFolder+"="+dir, "GOMAXPROCS=1")
	return c
}

// killedAt has a life end with the n-th call of a name. It is false if there are fewer of these calls in a whole life.
func (k Test) killedAt(t *testing.T, call string, n int, left *sync.Map) (killed bool) {
	dir, err := os.MkdirTemp(t.TempDir(), "life")
	if err != nil {
		t.Fatal(err)
	}
	if k.Before != nil {
		k.Before(t, dir)
	}
	c := Command(k.Name, dir, "strace", "-o", "/dev/null", "-e", "trace="+call, "-e", "inject="+call+":signal=KILL:when="+strconv.Itoa(n))
	said, err := c.Output()
	at := fmt.Sprintf("%s %d of %s", call, n, filepath.Base(os.Args[0]))
	if strings.Contains(string(said), failed) {
		t.Fatalf("the life to be killed at %s: %s", at, said)
	}
	k.note(dir, left)
	k.After(t, dir, at, string(said))
	return err != nil
}
