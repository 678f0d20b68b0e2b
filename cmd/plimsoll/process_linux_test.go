package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// An output takes what a process says, and may be looked at meanwhile.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// waitFor waits until words were said.
func (o *output) waitFor(t *testing.T, words string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(o.String(), words); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q was not said:\n%s", words, o)
		}
	}
}

// apart is plimsoll in a process of its own: what a living one has left is not swept.
func apart(t *testing.T, ctx context.Context, dir, stdin string, args ...string) result {
	t.Helper()
	states.Add(t, dir)
	cmd := exec.CommandContext(ctx, os.Args[0], append(args, "--state", dir)...)
	cmd.Stdin = strings.NewReader(stdin)
	return outcome(t, cmd)
}

// apartIn is apart with another current folder, which a process has only one of: so tests of lines run beside each other.
func apartIn(t *testing.T, cwd, dir string, args ...string) result {
	t.Helper()
	states.Add(t, dir)
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--state", dir)...)
	cmd.Dir = cwd
	return outcome(t, cmd)
}

// outcome runs a command of this test binary as plimsoll.
func outcome(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	cmd.Env = append(cmd.Environ(), forChild(t)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// A subtest is a test that may run beside others.
type subtest struct {
	name string
	run  func(*testing.T)
}

// abreast runs subtests, so many at once. They mostly wait, for measured windows and daemons, and t.Parallel
// runs no more at once than there are processors.
func abreast(t *testing.T, most int, tests []subtest) {
	t.Helper()
	next := make(chan subtest)
	var all sync.WaitGroup
	for range most {
		all.Go(func() {
			for s := range next {
				t.Run(s.name, s.run)
			}
		})
	}
	for _, s := range tests {
		next <- s
	}
	close(next)
	all.Wait()
}

// writeProgram makes a program. No process is started meanwhile by other tests, which would have it open for writing until it is another
// program: to run it would fail then.
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	mustDo(t, os.WriteFile(path, []byte(text), 0o755))
}

// startPlimsoll runs this test binary as plimsoll with the small plan, and waits until
// it has measured something.
func startPlimsoll(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	return startPlan(t, dir, small, args...)
}

// launch runs this test binary as plimsoll, and kills it at the test's end. The command's
// Stderr is an *output.
func launch(t *testing.T, dir, plan string, args ...string) *exec.Cmd {
	t.Helper()
	return launchIn(t, "", dir, plan, args...)
}

// launchIn is launch with another current folder.
func launchIn(t *testing.T, cwd, dir, plan string, args ...string) *exec.Cmd {
	t.Helper()
	states.Add(t, dir)
	cmd := exec.Command(os.Args[0], append(args, "--state", dir)...)
	cmd.Dir = cwd
	cmd.Env = append(cmd.Environ(), forChild(t)...)
	cmd.Stdin = strings.NewReader(plan)
	log := &output{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// startPlan is startPlimsoll with another plan.
func startPlan(t *testing.T, dir, plan string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := launch(t, dir, plan, args...)
	deadline := time.Now().Add(time.Minute)
	for countTrials(dir) < 3 {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was measured:\n%s", cmd.Stderr)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return cmd
}
