package fio

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// otherThings are what fio's examples need that no option of a job gives: another engine of fio's, or a zoned device.
var otherThings = regexp.MustCompile(`(?m)^\s*(ioengine\s*=\s*(\S+)|zonemode\s*=\s*zbd)`)

// refusedExamples are examples that fio takes and Plimsoll refuses, each with words of the refusal.
var refusedExamples = map[string]string{
	"cross-stripe-verify.fio": "write the same part",
}

// fiosExamples are the texts of fio's own examples, by their paths.
func fiosExamples(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.Command("dpkg", "-L", "fio-examples").Output()
	if err != nil {
		t.Fatalf("fio-examples: %v: run scripts/setup test", err)
	}
	all := map[string]string{}
	for _, path := range strings.Fields(string(out)) {
		if filepath.Ext(path) != ".fio" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(text)
	}
	return all
}

// Fio's own examples are taken, all that need nothing else but those that are listed with their reasons: the list may only shrink.
func TestFiosExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken, all := 0, 0
	for path, text := range fiosExamples(t) {
		other := slices.ContainsFunc(otherThings.FindAllStringSubmatch(text, -1), func(m []string) bool { return engines[m[2]] == "" })
		if other || !fioTakes(t, dir, []string{path}) {
			continue
		}
		all++
		name := filepath.Base(path)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Parse([]string{name}, fileSource(dir))
		switch why := refusedExamples[name]; {
		case err == nil && why == "":
			taken++
		case err == nil:
			t.Errorf("%s is taken now: take it off the list", name)
		case why == "" || !strings.Contains(err.Error(), why):
			t.Errorf("%s: %v, want %q", name, err, why)
		}
	}
	t.Logf("%d of fio's %d examples that need nothing else are taken", taken, all)
	if all < 30 || taken != all-len(refusedExamples) {
		t.Errorf("%d of %d examples are taken, and %d are listed as refused", taken, all, len(refusedExamples))
	}
}

// A job that waits for another begins when that has ended.
func TestWaitFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "[global]\nsize=64k\nbs=4k\nfilename=f\n[a]\nrw=write\n[b]\nwait_for=a\nrw=read\n[c]\nwait_for=a\nrw=randread\nnew_group\n"
	if err := os.WriteFile(filepath.Join(dir, "w.fio"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sameIO(t, peer(t, dir, "w.fio"), run(t, t.TempDir(), "--name=a", "--size=64k", "--rw=write", "--filename=f", "--name=b", "--size=64k", "--wait_for=a", "--filename=f", "--name=c", "--size=64k", "--wait_for=a", "--rw=randread", "--filename=f"))
	test, err := Parse([]string{"w.fio"}, fileSource(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(test.stages) != 2 || len(test.stages[1]) != 2 {
		t.Errorf("%d stages, want a before b and c", len(test.stages))
	}
	for _, args := range [][]string{
		{"--name=a", "--size=4k", "--wait_for=x"},
		{"--name=a", "--size=4k", "--name=b", "--size=4k", "--name=c", "--size=4k", "--wait_for=a"},
	} {
		if _, err := Parse(args, Source{}); err == nil || !strings.Contains(err.Error(), "wait_for") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
