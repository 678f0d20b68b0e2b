// Package killtest kills a process at each of its system calls that change something, so that a test can check the remains.
//
// The process is the test's own program: Life, called from an init function, does there the work that the test interrupts. strace(1)
// counts the calls of each name and injects SIGKILL at the n-th.
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

// Environment variables of the process to be killed.
const (
	lifeName   = "PLIMSOLL_TEST_LIFE"
	lifeFolder = "PLIMSOLL_TEST_LIFE_FOLDER"
)

// Life does nothing, except in the process that the Test of that name kills: there it runs live with a folder and ends the
// process. It must be called from an init function, which runs on the thread that strace counts. The test gets live's output.
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

// failed begins the output of a live that returned an error.
const failed = "killtest: failed:"

// A Test prepares and checks the lives of a process, each with a folder dir of its own.
type Test struct {
	Name string
	// Calls are the names of the system calls.
	Calls []string
	// Kinds are the kinds of journal entries that the process makes. The test fails unless a killed process has left an entry of
	// each.
	Kinds []string
	// Before prepares the folder; nil: the folder is empty.
	Before func(t *testing.T, dir string)
	// After checks the remains. at names the call at which the life ended, and said is its output.
	After func(t *testing.T, dir, at, said string)
}

// Run ends a life at each call, and runs a whole one at the end. It returns how many were killed. It skips the test if there is
// no strace.
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

// note records the kinds of the entries in the journals of a folder and of its subfolders.
func (k Test) note(dir string, left *sync.Map) {
	for _, kind := range k.Kinds {
		for _, journal := range []string{"journal", "*/journal"} {
			if entries, _ := filepath.Glob(filepath.Join(dir, journal, kind, "*.json")); len(entries) > 0 {
				left.Store(kind, true)
			}
		}
	}
}

// Command returns the command that runs a life with a folder. The words in before precede it, such as a tracer's.
func Command(name, dir string, before ...string) *exec.Cmd {
	argv := append(before, os.Args[0])
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), lifeName+"="+name, lifeFolder+"="+dir, "GOMAXPROCS=1")
	return c
}

// killedAt ends a life at the n-th call of a name. It returns false if a whole life has fewer of these calls.
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
