package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/leaktest"
	"plimsoll/internal/record"
	"plimsoll/internal/store"
	"plimsoll/internal/workerbin"
)

// asPlimsoll makes the test binary be plimsoll itself, for tests that kill it.
const asPlimsoll = "PLIMSOLL_TEST_BE_PLIMSOLL"

func TestMain(m *testing.M) {
	if os.Getenv(asPlimsoll) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// needRun skips what needs root, and fails where make has not built the worker.
func needRun(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root is needed")
	}
	if _, err := workerbin.Bytes("linux", "amd64"); err != nil {
		t.Fatal(err)
	}
}

// small is a plan that takes about a second.
const small = `
name: small
workloads:
  randread: {rw: randread, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, number_ios: 200}
  append: {kind: append, count: 100}
engines: [host, oci]
places: {dir: {}, layer: {}, tmpfs: {}}
baseline: {engine: host, place: dir}
blocks: 2
seed: 7
`

// result is what one plimsoll command did.
type result struct {
	status         int
	stdout, stderr string
}

// plimsoll runs a command in process, with state in dir.
func plimsoll(t *testing.T, ctx context.Context, dir, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}
	status := a.run(ctx, append(args, "--state", dir))
	return result{status, out.String(), errs.String()}
}

// records reads the newest run of a state folder.
func records(t *testing.T, dir string) (record.Run, []record.Trial) {
	t.Helper()
	db, err := store.Open(filepath.Join(dir, "plimsoll.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	runs, err := db.Runs(store.Filter{})
	if err != nil || len(runs) == 0 {
		t.Fatalf("runs = %v, %v", runs, err)
	}
	run, err := db.Run(runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := db.Trials(run.ID, store.TrialsOptions{Histograms: true})
	if err != nil {
		t.Fatal(err)
	}
	return run, trials
}

// checkClean fails if a finished run left sessions, data or containers in dir.
func checkClean(t *testing.T, dir string) {
	t.Helper()
	for _, sub := range []string{"sessions", "data", "oci"} {
		left, _ := os.ReadDir(filepath.Join(dir, sub))
		for _, l := range left {
			if sub == "oci" && l.Name() == "state" {
				inner, _ := os.ReadDir(filepath.Join(dir, sub, "state"))
				for _, i := range inner {
					t.Errorf("left behind: %s/%s/%s", sub, l.Name(), i.Name())
				}
				continue
			}
			t.Errorf("left behind: %s/%s", sub, l.Name())
		}
	}
	marks := []string{dir}
	if run, _ := records(t, dir); run.ID != "" {
		marks = append(marks, "plimsoll-"+run.ID) // Its cgroups.
	}
	if left := leaktest.Find(marks...); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

func TestRun(t *testing.T) {
	needRun(t)
	dir, out := t.TempDir(), t.TempDir()
	r := plimsoll(t, t.Context(), dir, small, "run", "-", "--out", out)
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, trials := records(t, dir)
	// Per workload: host dir and tmpfs, oci layer and tmpfs, and the control.
	if want := 2 * 2 * 5; len(trials) != want {
		t.Errorf("%d trials, want %d", len(trials), want)
	}
	for _, tr := range trials {
		if tr.Status != record.Done || tr.Value <= 0 || len(tr.Results) != 1 {
			t.Errorf("%s, block %d: %s %v %s", tr.Key, tr.Block, tr.Status, tr.Value, tr.Error)
		}
		if tr.FirstWhere().FSType == "" || tr.FirstWhere().Kernel == "" {
			t.Errorf("%s: no fingerprint: %+v", tr.Key, tr.Where)
		}
		if strings.Contains(tr.Key, "dir") && tr.Total().Device == "" {
			t.Errorf("%s: no device: %s", tr.Key, tr.Total().DeviceWhy)
		}
	}
	// The doubts are raised, kept with the record, and printed.
	for _, tr := range trials {
		if tr.Cell.Workload != "randread" {
			continue
		}
		switch {
		case tr.Cell.Place == "tmpfs" && len(tr.Warnings) == 0:
			t.Errorf("%s: memory, and no warning says so", tr.Key)
		case tr.Cell.Place != "tmpfs" && (tr.Total().ProcRead <= 0 || tr.Total().DeviceRead <= 0):
			t.Errorf("%s: a direct read that nothing below saw: %+v", tr.Key, tr.Truth)
		}
	}
	if !strings.Contains(r.stdout, "tmpfs is memory") {
		t.Errorf("the table lacks the doubt about tmpfs:\n%s", r.stdout)
	}
	if run.Status != record.Done || run.Ceiling.IOPS <= 0 || run.Seed != 7 {
		t.Errorf("run = %+v", run)
	}
	if c := run.IOEngine["randread"]; c.Engine == "" || c.Why == "" {
		t.Errorf("I/O engine = %+v", c)
	}
	for _, word := range []string{"host dir", "oci layer"} {
		if !strings.Contains(r.stdout, word) {
			t.Errorf("the overview lacks %q:\n%s", word, r.stdout)
		}
	}
	if strings.Contains(r.stdout, "A/A control") {
		t.Errorf("two blocks prove nothing, and their tables are printed:\n%s", r.stdout)
	}
	if full := plimsoll(t, t.Context(), dir, "", "report", "last", "--full"); !strings.Contains(full.stdout, "A/A control") {
		t.Errorf("--full lacks the tables:\n%s", full.stdout)
	}
	if last := lastLine(r.stdout); !strings.HasSuffix(last, filepath.Join(out, "report.html")) {
		t.Errorf("the last line is %q, want where the page is", last)
	}
	html, err := os.ReadFile(filepath.Join(out, "report.html"))
	if err != nil || !bytes.Contains(html, []byte("randread")) {
		t.Errorf("report.html: %v, %d bytes", err, len(html))
	}
	checkClean(t, dir)
}

func TestRunJSON(t *testing.T) {
	needRun(t)
	r := plimsoll(t, t.Context(), t.TempDir(), small, "run", "-", "--json", "--only", "engine=host", "--blocks", "1")
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Errorf("stdout is not JSON: %v", err)
	}
}

// TestRunFailedCell: a cell that fails keeps its error, and the others are done.
func TestRunFailedCell(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	const plan = `
name: full
workloads:
  big: {kind: tree, count: 400}
engines: [host, oci]
places: {dir: {}, tmpfs: {size: 4MiB}}
blocks: 2
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, want %d; stderr:\n%s", r.status, exitCellsFailed, r.stderr)
	}
	_, trials := records(t, dir)
	var done, failed int
	for _, tr := range trials {
		switch tr.Status {
		case record.Done:
			done++
		case record.Failed:
			failed++
			if !strings.Contains(tr.Error, "space") || tr.Phase != "prepare" || tr.Cell.Place != "tmpfs" {
				t.Errorf("failed trial = %s %s %q", tr.Key, tr.Phase, tr.Error)
			}
		}
	}
	if done != 4 || failed != 4 {
		t.Errorf("%d done, %d failed, want 4 and 4", done, failed)
	}
	if !strings.Contains(r.stdout, "space") {
		t.Errorf("the report doesn't say why:\n%s", r.stdout)
	}
	checkClean(t, dir)
}

// TestRunTimeout: a cell that doesn't end is stopped and kept as failed.
func TestRunTimeout(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	const plan = `
name: slow
workloads: {append: {kind: append, count: 10000000}}
engines: [host]
places: {dir: {}}
blocks: 1
timeout: 1s
`
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	if r.status != exitCellsFailed {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	for _, tr := range trials {
		if tr.Status != record.Failed || !strings.Contains(tr.Error, "timeout of 1s") {
			t.Errorf("trial = %s %q", tr.Status, tr.Error)
		}
	}
	checkClean(t, dir)
}

// TestRunInterrupted: an interrupt keeps what was measured, and --resume goes on
// to the same trials that an unbroken run has.
func TestRunInterrupted(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// As soon as something was measured.
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			if n := countTrials(dir); n >= 3 {
				cancel()
			}
		}
	}()
	r := plimsoll(t, ctx, dir, small, "run", "-", "--blocks", "20")
	if r.status != exitFailure || !strings.Contains(r.stderr, "--resume") {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, before := records(t, dir)
	if run.Status != record.Interrupted || len(before) < 3 {
		t.Fatalf("run %s with %d trials", run.Status, len(before))
	}
	if last := lastLine(r.stderr); !strings.Contains(last, "plimsoll run --resume") {
		t.Errorf("the last line is %q, want how to go on", last)
	}
	if n := strings.Count(r.stdout, "\n"); n > 25 || !strings.Contains(r.stdout, "measured, ") {
		t.Errorf("%d lines after an interrupt, want few, with what was measured:\n%s", n, r.stdout)
	}
	checkClean(t, dir)

	if r := plimsoll(t, t.Context(), dir, "", "run", "--resume", "--blocks", "3"); r.status != exitUsage {
		t.Errorf("--resume with --blocks: status %d, want %d", r.status, exitUsage)
	}
	r = plimsoll(t, t.Context(), dir, "", "run", "--resume")
	if r.status != exitDone {
		t.Fatalf("resume: status %d, stderr:\n%s", r.status, r.stderr)
	}
	if want := fmt.Sprintf("%d of 200 trials left", 200-len(before)); !strings.Contains(r.stderr, want) || !strings.Contains(firstLine(r.stderr), " left") {
		t.Errorf("the resumed run announces more than is left, want %q:\n%s", want, r.stderr)
	}
	run, after := records(t, dir)
	if want := 20 * 10; run.Status != record.Done || len(after) != want {
		t.Errorf("run %s with %d trials, want %d", run.Status, len(after), want)
	}
	seen := map[string]bool{}
	for i, tr := range after {
		k := fmt.Sprint(tr.Key, tr.Block)
		if seen[k] {
			t.Errorf("%s was run twice in block %d", tr.Key, tr.Block)
		}
		seen[k] = true
		if tr.Order != i {
			t.Errorf("trial %d has order %d", i, tr.Order)
		}
	}
	if r := plimsoll(t, t.Context(), dir, "", "run", "--resume"); r.status != exitUsage {
		t.Errorf("a second resume: status %d, want %d", r.status, exitUsage)
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// TestRunInterruptedAtOnce: a run that was broken off before its first trial is no run.
func TestRunInterruptedAtOnce(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := plimsoll(t, ctx, dir, small, "run", "-")
	if last := lastLine(r.stderr); r.status != exitFailure || !strings.Contains(last, "nothing is recorded") {
		t.Errorf("status %d, last line %q, want that nothing is recorded", r.status, last)
	}
	if r := plimsoll(t, t.Context(), dir, "", "run", "--resume"); r.status != exitUsage || !strings.Contains(r.stderr, "nothing to resume") {
		t.Errorf("resume: status %d:\n%s", r.status, r.stderr)
	}
	leaktest.Check(t, dir)
}

// TestRepeatStandardInput: the command that repeats a run whose plan came from standard input
// works, word by word, in a shell.
func TestRepeatStandardInput(t *testing.T) {
	needRun(t)
	dir, bin := t.TempDir(), t.TempDir()
	r := plimsoll(t, t.Context(), dir, small, "run", "-", "--only", "engine=host", "--blocks", "1")
	if r.status != exitDone {
		t.Fatalf("status %d:\n%s", r.status, r.stderr)
	}
	first, before := records(t, dir)
	if !strings.Contains(r.stdout, "Repeat: "+first.Command) {
		t.Errorf("the report lacks %q:\n%s", first.Command, r.stdout)
	}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "plimsoll")); err != nil {
		t.Fatal(err)
	}
	sh := exec.Command("sh", "-c", first.Command)
	sh.Env = append(os.Environ(), asPlimsoll+"=1", "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", first.Command, err, out)
	}
	again, after := records(t, dir)
	if again.ID == first.ID || again.PlanText != first.PlanText || again.Seed != first.Seed || len(after) != len(before) {
		t.Errorf("%s ran plan\n%s\nwith seed %d and %d trials, want\n%s\n%d and %d", first.Command, again.PlanText, again.Seed, len(after), first.PlanText, first.Seed, len(before))
	}
	for i := range min(len(after), len(before)) {
		if after[i].Key != before[i].Key {
			t.Errorf("trial %d is of %s, want %s", i, after[i].Key, before[i].Key)
		}
	}
	checkClean(t, dir)
}

// countTrials counts the trials of a state folder's newest run, 0 in doubt.
func countTrials(dir string) int {
	path := filepath.Join(dir, "plimsoll.db")
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	db, err := store.Open(path)
	if err != nil {
		return 0
	}
	defer db.Close()
	runs, err := db.Runs(store.Filter{})
	if err != nil || len(runs) == 0 {
		return 0
	}
	trials, _ := db.Trials(runs[0].ID, store.TrialsOptions{})
	return len(trials)
}

// startPlimsoll runs this test binary as plimsoll with the small plan, and waits until
// it has measured something.
func startPlimsoll(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	return startPlan(t, dir, small, args...)
}

// startPlan is startPlimsoll with another plan. The command's Stderr is a *bytes.Buffer.
func startPlan(t *testing.T, dir, plan string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append(args, "--state", dir)...)
	cmd.Env = append(os.Environ(), asPlimsoll+"=1")
	cmd.Stdin = strings.NewReader(plan)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	deadline := time.Now().Add(30 * time.Second)
	for countTrials(dir) < 3 {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was measured:\n%s", log.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
	return cmd
}

// TestRunKilled: kill -9 leaves no process and no mount; the next run removes the
// folders and goes on.
func TestRunKilled(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	cmd := startPlimsoll(t, dir, "run", "-", "--blocks", "50")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	_, before := records(t, dir)
	// The workers end by themselves, at the end of their input.
	deadline := time.Now().Add(10 * time.Second)
	for len(processesWith(dir)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("processes left: %v", processesWith(dir))
		}
		time.Sleep(20 * time.Millisecond)
	}
	if left := leaktest.Find(dir); len(left) > 0 {
		t.Errorf("mounts left after kill -9: %v", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil && countTrials(dir) < len(before)+5 {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	r := plimsoll(t, ctx, dir, "", "run", "--resume")
	if !strings.Contains(r.stderr, "removed what an earlier run left behind") {
		t.Errorf("nothing was swept:\n%s", r.stderr)
	}
	_, after := records(t, dir)
	if len(after) < len(before) {
		t.Errorf("%d trials after resuming, %d before", len(after), len(before))
	}
	checkClean(t, dir)
}

// TestRunTwoInterrupts: the second interrupt makes cleaning up quick, not partial, and
// what was recorded stays.
func TestRunTwoInterrupts(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	interruptTwice(t, dir, small, 3)
	checkClean(t, dir)
}

// interruptTwice starts a plan, interrupts it twice in the middle of a trial when so many are
// recorded, and looks at what it kept and said.
func interruptTwice(t *testing.T, dir, plan string, after int) {
	t.Helper()
	cmd := startPlan(t, dir, plan, "run", "-", "--blocks", "50")
	for end := time.Now().Add(time.Minute); countTrials(dir) < after && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	before := countTrials(dir)
	for range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		// Two that come before it took the first are one to the kernel.
		for pending(t, cmd.Process.Pid) {
			time.Sleep(time.Millisecond)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the run hangs after two interrupts")
	}
	state := cmd.ProcessState
	if state.Sys().(syscall.WaitStatus).Signaled() || state.ExitCode() != exitFailure {
		t.Errorf("plimsoll ended with %v, want exit status %d", state, exitFailure)
	}
	run, trials := records(t, dir)
	if run.Status != record.Interrupted || len(trials) < before {
		t.Errorf("the run is %s with %d trials, want it interrupted with %d at least", run.Status, len(trials), before)
	}
	said := cmd.Stderr.(*bytes.Buffer).String()
	for _, want := range []string{"interrupted; what was measured is kept", "'plimsoll report " + run.ID + " --state " + dir + "' shows it", "plimsoll run --resume"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

// pending reports whether an interrupt waits to be taken by a process (ShdPnd in
// proc_pid_status(5), a mask in hexadecimal whose lowest bit is signal 1).
func pending(t *testing.T, pid int) bool {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if mask, ok := strings.CutPrefix(line, "ShdPnd:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n&(1<<(uint(syscall.SIGINT)-1)) != 0
		}
	}
	return false
}

// processesWith lists the processes whose command line holds part.
func processesWith(part string) []string {
	var found []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, l := range lines {
		if b, err := os.ReadFile(l); err == nil && bytes.Contains(b, []byte(part)) {
			found = append(found, l+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return found
}

// TestRunRefuses: what would lose data or can't be meant is refused before anything is
// made, with a status of 2 and the reason.
func TestRunRefuses(t *testing.T) {
	needRun(t)
	file := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := func(place string) string {
		return "name: p\nworkloads: {w: {rw: randwrite, bs: 4KiB, size: 1MiB, runtime: 10ms}}\nengines: [host, oci]\nplaces: {" + place + "}\nblocks: 1\n"
	}
	profile := func(path string) string {
		return "name: p\nworkloads: {a: {kind: append}}\nengines: [host, {name: c, kind: oci, seccomp: " + path + "}]\nplaces: {layer: {}, dir: {}}\n"
	}
	for _, c := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"no such plan", "", []string{"run", "nonsense"}, "no built-in plan"},
		{"unreadable plan", "name: [", []string{"run", "-"}, "standard input:"},
		{"unknown key", "name: x\nworklods: {}\n", []string{"run", "-"}, "2:1"},
		{"two plans", "", []string{"run", "a", "b"}, "one plan"},
		{"unknown flag", "", []string{"run", "--blocs", "3"}, "--blocs"},
		{"a missing folder", plan("dir: {path: /nowhere/at/all}"), []string{"run", "-"}, "does not exist"},
		{"a file with data", plan("dir: {path: " + file + "}"), []string{"run", "-"}, "--destructive " + file},
		{"another path repeated", plan("dir: {path: " + file + "}"), []string{"run", "-", "--destructive", "/dev/null"}, "--destructive " + file},
		{"a file as a bind", plan("bind: {path: " + file + "}"), []string{"run", "-"}, "not a folder"},
		{"a missing profile", profile("/nowhere/at/all"), []string{"run", "-"}, "standard input:3:38: engines.1.seccomp: seccomp profile: stat /nowhere/at/all: no such file"},
		{"a profile of another kind", profile(file), []string{"run", "-"}, "standard input:3:38: engines.1.seccomp: seccomp profile " + file + ": invalid character"},
		{"a profile that is a folder", profile("/etc"), []string{"run", "-"}, "/etc is not a regular file"},
		{"an image that is no folder", "name: p\nworkloads: {a: {kind: append, count: 5}}\nengines:\n- host\n- {name: oci, image: /nowhere/at/all}\nplaces: {dir: {}, layer: {}}\n", []string{"run", "-"}, "image /nowhere/at/all: it is not a folder"},
		{"destructive for nothing", plan("dir: {}"), []string{"run", "-", "--destructive", file}, "no place"},
		{"nothing to resume", "", []string{"run", "--resume"}, "nothing to resume"},
		{"an unknown run", "", []string{"run", "--resume", "2020"}, "2020"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plimsoll(t, t.Context(), t.TempDir(), c.stdin, c.args...)
			if r.status != exitUsage || !strings.Contains(r.stderr, c.want) {
				t.Errorf("status %d, stderr %q; want status %d and %q", r.status, r.stderr, exitUsage, c.want)
			}
		})
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "data" {
		t.Errorf("the file was touched: %q, %v", b, err)
	}
}

// TestRunDestructive: with its path repeated a file is measured itself.
func TestRunDestructive(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := "name: p\nworkloads: {w: {rw: randwrite, bs: 4KiB, size: 1MiB, runtime: 10ms}, a: {kind: append, count: 5}}\nengines: [host]\nplaces: {dir: {path: " + file + "}}\nblocks: 1\n"
	r := plimsoll(t, t.Context(), dir, plan, "run", "-", "--destructive", file)
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, trials := records(t, dir)
	for _, tr := range trials {
		if tr.Cell.Workload != "w" || tr.Spec.Job.Filename != file {
			t.Errorf("trial %s on %q", tr.Key, tr.Spec.Job.Filename)
		}
	}
	if len(run.Skipped) == 0 || !strings.Contains(run.Skipped[0].Reason, "folder") {
		t.Errorf("skipped = %v, want append, which needs a folder", run.Skipped)
	}
	if b, _ := os.ReadFile(file); len(b) != 1<<20 || bytes.Equal(b, bytes.Repeat([]byte("x"), 1<<20)) {
		t.Errorf("the file was not written over, or has another length: %d bytes", len(b))
	}
}
