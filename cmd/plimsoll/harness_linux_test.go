package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/paralleltest"
)

// asPlimsoll makes the test binary be plimsoll itself, for tests that kill it.
const asPlimsoll = "PLIMSOLL_TEST_BE_PLIMSOLL"

func TestMain(m *testing.M) {
	if os.Getenv(asPlimsoll) != "" {
		if os.Getenv(noSyncs) != "" {
			if err := swallowSyncs(); err != nil {
				panic(err)
			}
		}
		main()
		return
	}
	paralleltest.AtOnce(4)
	machine, err := os.MkdirTemp("", "plimsoll-test-machine-")
	if err != nil {
		panic(err)
	}
	os.Setenv(paths.MachineVar, machine)
	status := dockertest.Run(m)
	os.RemoveAll(machine)
	for _, folder := range []string{builtFolder, machineFolder} {
		if folder != "" {
			os.RemoveAll(folder)
		}
	}
	os.Exit(status)
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

// plimsoll runs a command in process, with state in dir.
func plimsoll(t *testing.T, ctx context.Context, dir, stdin string, args ...string) result {
	t.Helper()
	states.Add(t, dir)
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs, env: environment(t)}
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
	for _, sub := range []string{"data", "oci"} {
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
	for _, l := range journaltest.Left(t, dir) {
		t.Errorf("left behind: %s", l)
	}
	marks := []string{dir}
	if run, _ := records(t, dir); run.ID != "" {
		marks = append(marks, "plimsoll-"+run.ID) // Its cgroups.
	}
	if left := leaktest.Find(marks...); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
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

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
