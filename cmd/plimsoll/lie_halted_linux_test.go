package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/testkit/disktest"
)

// haltedPlan is one trial with a window, and more of its job.
func haltedPlan(engine, place string, window time.Duration, more string) string {
	kind := "bind"
	if engine == "host" {
		kind = "dir"
	}
	return fmt.Sprintf(`
name: halted
workloads: {w: {rw: randread, bs: 4KiB, direct: true, size: 8MiB, runtime: %s%s}}
engines: [%s]
places: {p: {kind: %s, path: %q}}
blocks: 1
`, window, more, engine, kind, place)
}

// workersOf are the agent and the trial that work now on a loop device, which is mounted in a place; 0 where there is none. In a container
// the place has another name, but it is mounted there alone.
func workersOf(loop, place string) (agent, trial int) {
	ours, _ := os.Readlink("/proc/self/ns/mnt")
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		b, err := os.ReadFile(l)
		words := strings.Split(string(b), "\x00")
		if err != nil || len(words) < 2 || words[1] != "trial" {
			continue
		}
		process := filepath.Dir(l)
		mark := place
		if theirs, _ := os.Readlink(process + "/ns/mnt"); theirs != ours {
			b, _ = os.ReadFile(process + "/mountinfo")
			mark = " " + loop + " "
		}
		if !bytes.Contains(b, []byte(mark)) {
			continue
		}
		trial, _ = strconv.Atoi(filepath.Base(process))
		return procfs.Parent("/proc", trial), trial
	}
	return 0, 0
}

// inWindow waits until the trial in a place is in its window: it has read a lot by then, and its layout is done. It returns 0 when the run is
// over before.
func inWindow(t *testing.T, loop, place string, over <-chan struct{}) (agent, trial int) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case <-over:
			return 0, 0
		default:
		}
		if agent, trial = workersOf(loop, place); trial == 0 {
			continue
		}
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", trial))
		for line := range strings.Lines(string(b)) {
			if n, ok := strings.CutPrefix(line, "read_bytes: "); ok {
				if read, _ := strconv.Atoi(strings.TrimSpace(n)); read > 128<<10 {
					return agent, trial
				}
			}
		}
	}
	t.Fatal("no trial began to read")
	return 0, 0
}

// halted runs a plan whose first trial is held for a part of its window, and returns the doubts about it.
func halted(t *testing.T, engine string, pause time.Duration, h holding) (warnings []string, doubts func(words ...string) string) {
	t.Helper()
	return haltedJob(t, engine, "", time.Second, pause, h)
}

// haltedJob is halted with more of the job, and another window than a second. Where a busy machine reads so little in it that its end comes first,
// window and pause are three times as long.
func haltedJob(t *testing.T, engine, more string, window, pause time.Duration, h holding) (warnings []string, doubts func(words ...string) string) {
	t.Helper()
	needRun(t)
	loop, place := disktest.Disk(t, disktest.Options{Size: 64 << 20, Direct: true})
	var dir string
	for trial := 0; trial == 0; window, pause = 3*window, 3*pause {
		dir = t.TempDir()
		var agent int
		var r result
		over := make(chan struct{})
		go func() {
			defer close(over)
			r = plimsoll(t, t.Context(), dir, haltedPlan(engine, place, window, more), "run", "-")
		}()
		if agent, trial = inWindow(t, loop, place, over); trial > 0 {
			h(t, agent, trial, pause)
		}
		if <-over; r.status != 0 || trial == 0 && window > 5*time.Second {
			t.Fatalf("status %d, held is process %d: %s%s", r.status, trial, r.stdout, r.stderr)
		}
	}
	_, trials := records(t, dir)
	for _, tr := range trials {
		warnings = append(warnings, texts(tr.Warnings)...)
	}
	return warnings, func(words ...string) string {
		for _, tr := range trials {
			if d := doubtOf(tr, check.Halted, words...); d != "" {
				return d
			}
		}
		return ""
	}
}

// wantHalted fails unless it is said why a trial did not run for a part of its window. On a busy machine the window may be over, or nearly,
// before the trial is held, and the agent, which looks why, may have no CPU meanwhile: a longer window is tried then.
func wantHalted(t *testing.T, engine string, h holding, why string) {
	t.Helper()
	for _, window := range []time.Duration{time.Second, 3 * time.Second, 9 * time.Second} {
		warnings, doubt := haltedJob(t, engine, "", window, window*2/5, h)
		if doubt("did not run for", why, "of the window") != "" {
			return
		}
		t.Logf("in a window of %v there is no doubt with %q: %q", window, why, warnings)
	}
	t.Errorf("no doubt with %q in any window", why)
}

// TestLieHalted: the worker does not run for a part of its window, which looks like a slow place.
func TestLieHalted(t *testing.T) {
	both := func(agent, trial int) []int { return []int{agent, trial} }
	one := func(_, trial int) []int { return []int{trial} }
	var tests []subtest
	for _, x := range []struct {
		name string
		hold holding
		want string
	}{
		{"trial stopped", func(_ *testing.T, _, trial int, pause time.Duration) { bySignal(trial)(pause) }, "a signal had stopped it"},
		{"worker stopped", func(_ *testing.T, agent, trial int, pause time.Duration) { bySignal(agent, trial)(pause) }, "a signal had stopped it"},
		{"traced", func(t *testing.T, _, trial int, pause time.Duration) { byTracer(t, trial, pause) }, "a debugger or tracer was attached"},
		{"trial frozen with version 1", byFreezer(1, one), "the freezer held its control group"},
		{"worker frozen with version 1", byFreezer(1, both), "its control group was frozen"},
		{"trial frozen with version 2", byFreezer(2, one), "the freezer held its control group"},
		{"worker frozen with version 2", byFreezer(2, both), "its control group was frozen"},
		{"frozen by the group above", byFreezerAbove, "the freezer held its control group"},
	} {
		tests = append(tests, subtest{x.name, func(t *testing.T) { wantHalted(t, "host", x.hold, x.want) }})
	}
	abreast(t, 3, tests)
}

// onFirstCPU keeps a process on the first CPU: each of its threads, since a new affinity holds for one thread only.
func onFirstCPU(pid int) {
	var first unix.CPUSet
	first.Set(0)
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		id, _ := strconv.Atoi(task.Name())
		_ = unix.SchedSetaffinity(id, &first)
	}
}

// hog keeps the first CPU busy for a while with four processes, which are started by a command.
func hog(t *testing.T, pause time.Duration, by ...string) {
	t.Helper()
	cmd := exec.Command("taskset", append([]string{"-c", "0"}, append(by, "sh", "-c", "for i in 1 2 3 4; do while :; do :; done & done; wait")...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(pause)
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	_ = cmd.Wait()
}

// TestLieStarved: the worker is ready to run and gets no CPU, since another program has a higher priority.
func TestLieStarved(t *testing.T) {
	for _, x := range []struct {
		name string
		hog  []string
	}{
		{"real time", []string{"chrt", "-f", "50"}},
		{"nice", []string{"nice", "-n", "-20"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			warnings, doubt := halted(t, "host", 0, func(t *testing.T, _, trial int, _ time.Duration) {
				onFirstCPU(trial)
				hog(t, 800*time.Millisecond, x.hog...)
			})
			if doubt("was ready to run, but had no CPU", "of the window") == "" {
				t.Errorf("no doubt: %q", warnings)
			}
		})
	}
}

// TestLieSwapped: the kernel pages the worker's memory out again and again, so that it waits for its own pages.
func TestLieSwapped(t *testing.T) {
	swapFile(t)
	warnings, doubt := halted(t, "host", 0, func(t *testing.T, _, trial int, _ time.Duration) {
		for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
			if err := pageOut(trial); err != nil {
				t.Skipf("needs process_madvise: %v", err)
			}
		}
	})
	if doubt("the worker's own memory", "pages") == "" {
		t.Errorf("no doubt: %q", warnings)
	}
}

// TestLieAgentStopped: the agent that looks after the worker stands still, and the worker goes on, at full speed or with little to do: its CPU time
// alone doesn't show then that it ran.
func TestLieAgentStopped(t *testing.T) {
	for _, more := range []string{"", ", rate_iops: 150"} {
		// A busy hypervisor may really stop the machine for a moment: three are tried.
		var said string
		for try := 1; try == 1 || said != "" && try <= 3; try++ {
			warnings, doubt := haltedJob(t, "host", more, time.Second, 500*time.Millisecond, func(_ *testing.T, agent, _ int, pause time.Duration) { bySignal(agent)(pause) })
			if said = doubt("did not run for"); said != "" {
				t.Logf("with %q a doubt without a reason: %q of %q", more, said, warnings)
			}
		}
		if said != "" {
			t.Errorf("three times: %s", said)
		}
	}
}

// TestHonestIsNotHalted: a worker that waits for its I/O gets no doubt that it stood still.
func TestHonestIsNotHalted(t *testing.T) {
	warnings, doubt := halted(t, "host", 0, func(*testing.T, int, int, time.Duration) {})
	if d := doubt("did not run for"); d != "" {
		t.Errorf("a doubt without a reason: %q of %q", d, warnings)
	}
}
