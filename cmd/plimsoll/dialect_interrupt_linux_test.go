package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
)

// longLines are lines of other tools that write for a minute at least, and shortLines what they are with less to do.
// The file that they write comes first.
var longLines, shortLines = map[string][]string{
	"fio":     {"out", "fio", "--name=a", "--filename=out", "--rw=randwrite", "--bs=4k", "--size=4m", "--ioengine=psync", "--time_based", "--runtime=60"},
	"diskspd": {"out", "diskspd", "-b4K", "-Sh", "-W0", "-w100", "-c4M", "-d60", "out"},
	"dd":      {"out", "dd", "if=/dev/zero", "of=out", "bs=4K", "oflag=dsync", "count=100000000"},
	"orion":   {"t.dat", "orion", "-run", "advanced", "-matrix", "point", "-num_small", "1", "-num_large", "0", "-write", "100", "-testname", "t", "--lun-size", "16MiB", "-duration", "60"},
}, map[string]string{"fio": "--runtime=1", "diskspd": "-d1", "dd": "count=10", "orion": "-duration 1"}

// shortly is a long line with less to do.
func shortly(tool string) []string {
	line := slices.Clone(longLines[tool][1:])
	key, value, isTwo := strings.Cut(shortLines[tool], " ")
	switch {
	case isTwo:
		line[len(line)-1] = value
	case tool == "diskspd":
		line[slices.Index(line, "-d60")] = key
	default:
		line[len(line)-1] = key
	}
	return line
}

// TestDialectInterrupted: an interrupted line says how far it got, records nothing of what was broken off, leaves nothing
// in the state folder, and leaves its file so that the same line may write to it again.
func TestDialectInterrupted(t *testing.T) {
	needRun(t)
	t.Parallel() // It waits for its lines, and their folders are its own.
	for tool, line := range longLines {
		for _, where := range [][]string{nil, {"--engine", "oci", "--place", "layer"}} {
			t.Run(tool+strings.Join(where, ""), func(t *testing.T) {
				t.Parallel()
				cwd, dir := t.TempDir(), t.TempDir()
				cmd := launchIn(t, cwd, dir, "", slices.Concat(line[1:], where, []string{"--record"})...)
				if !writes(dir) {
					t.Fatalf("nothing is measured:\n%s", cmd.Stderr)
				}
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
				exited(t, cmd)
				said := cmd.Stderr.(*output).String()
				if status := cmd.ProcessState.ExitCode(); status != exitFailure || !strings.Contains(said, "plimsoll: "+tool+": interrupted after ") || strings.Contains(said, "context") {
					t.Errorf("status %d, want %d and how far it got:\n%s", status, exitFailure, said)
				}
				if n := countTrials(dir); n != 0 {
					t.Errorf("%d trials of a line that was broken off are recorded", n)
				}
				if left, _ := filepath.Glob(filepath.Join(cwd, "t_*")); len(left) > 0 {
					t.Errorf("files of tables that hold nothing were left: %v", left)
				}
				r := apartIn(t, cwd, dir, slices.Concat(shortly(tool), where, []string{"--record"})...)
				if r.status != exitDone {
					t.Errorf("the same line once more: status %d\n%s%s", r.status, r.stdout, r.stderr)
				}
				if run, trials := records(t, dir); run.Status != record.Done || len(trials) == 0 {
					t.Errorf("run %s with %d trials", run.Status, len(trials))
				}
				if _, err := os.Stat(filepath.Join(cwd, line[0])); (err == nil) != (where == nil) {
					t.Errorf("%s in the current folder: %v", line[0], err)
				}
				checkClean(t, dir)
			})
		}
	}
}

// writes waits until a trial's process below one of the state folder's agents is in the middle of its writes: a
// ring's are no system calls, but direct ones, and there are more of them than what is laid out.
func writes(dir string) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, agent := range agents(dir) {
			for _, pid := range children(agent) {
				if ioOf(pid, "syscw") > 200 || ioOf(pid, "write_bytes") > 24<<20 {
					return true
				}
			}
		}
	}
	return false
}

// TestDialectSweeps: what a line that was killed has left is removed by the next one.
func TestDialectSweeps(t *testing.T) {
	needRun(t)
	t.Parallel() // Its folders are its own.
	cwd, dir := t.TempDir(), t.TempDir()
	where := []string{"--engine", "oci", "--place", "bind"}
	cmd := launchIn(t, cwd, dir, "", slices.Concat(longLines["dd"][1:], where, []string{"--record"})...)
	if !writes(dir) {
		t.Fatalf("nothing is measured:\n%s", cmd.Stderr)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	r := apartIn(t, cwd, dir, slices.Concat(shortly("dd"), where, []string{"--record"})...)
	r.wantError(t, exitDone, "removed the leftovers of an earlier run: folder "+dir)
	checkClean(t, dir)
}

// TestVerifyInterrupted: an interrupted verify says how far it got, and can be done again.
func TestVerifyInterrupted(t *testing.T) {
	inFolder(t)
	cmd := launch(t, t.TempDir(), "", "verify", "out", "--size", "1MiB", "--rate", "50", "--fdatasync", "1", "--journal", "journal")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile("journal"); err == nil && strings.Count(string(b), "\n") > 3 {
			break // Two blocks at least.
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	exited(t, cmd)
	if said := cmd.Stderr.(*output).String(); cmd.ProcessState.ExitCode() != exitFailure || !strings.Contains(lastLine(said), "interrupted; ") || !strings.Contains(said, "blocks were written and synced before") {
		t.Errorf("%v:\n%s", cmd.ProcessState, said)
	}
	if r := plimsoll(t, t.Context(), t.TempDir(), "", "verify", "out", "--size", "1MiB"); r.status != exitDone {
		t.Errorf("once more: status %d, %s", r.status, r.stderr)
	}
}

// TestInterruptedLineIsNotResumed: stages that ended before an interrupt are kept, and 'plimsoll run' leaves them alone: there
// is no plan to go on with.
func TestInterruptedLineIsNotResumed(t *testing.T) {
	needRun(t)
	inFolder(t)
	dir := t.TempDir()
	cmd := launch(t, dir, "", strings.Fields("fio --name=a --rw=randread --bs=4k --size=1m --ioengine=psync --name=b --stonewall --rw=randread --bs=4k --size=1m --ioengine=psync --runtime=60 --time_based --record")...)
	for end := time.Now().Add(time.Minute); countTrials(dir) < 1 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	exited(t, cmd)
	run, trials := records(t, dir)
	if said := cmd.Stderr.(*output).String(); run.Status != record.Interrupted || len(trials) != 1 || !strings.Contains(said, "recorded as run "+run.ID) {
		t.Errorf("the run is %s with %d trials:\n%s", run.Status, len(trials), said)
	}
	plimsoll(t, t.Context(), dir, "", "run", "--resume").wantError(t, exitUsage, "nothing to resume")
	for _, args := range [][]string{{"results", "ls"}, {"results", "show", "last"}, {"report", "last"}} {
		if r := plimsoll(t, t.Context(), dir, "", args...); r.status != exitDone || strings.Contains(r.stdout, "--resume") {
			t.Errorf("%v: status %d, told how to resume:\n%s", args, r.status, r.stdout)
		}
	}
	checkClean(t, dir)
}
