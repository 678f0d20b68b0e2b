package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/testkit/golden"
)

// say runs a command line in process.
func say(t *testing.T, args ...string) result {
	t.Helper()
	return plimsoll(t, t.Context(), filepath.Join(t.TempDir(), "state"), "", args...)
}

// TestWrongWords: a word that is not known is wrong usage, and the nearest one is named.
func TestWrongWords(t *testing.T) {
	var said transcript
	for _, args := range [][]string{
		{"help", "zzzzzz"},
		{"help", "dcotor"},
		{"help", "plan", "chekc"},
		{"help", "run", "foo"},
		{"rnu"},
		{"results", "lss"},
		{"completion", "bsh"},
		{"run", "--quik"},
		{"run", "--stat=x"},
		{"run", "--entirely-other"},
		{"run", "-x"},
		{"version", "x"},
		{"doctor", "--nonsense"},
	} {
		r := say(t, args...)
		if r.status != exitUsage || r.stdout != "" {
			t.Errorf("plimsoll %q: status %d, want %d; printed %q", args, r.status, exitUsage, r.stdout)
		}
		said.add(args, r)
	}
	said.check(t, "wrong-words.txt")
}

// TestHelp: the help of each command and topic.
func TestHelp(t *testing.T) {
	var said transcript
	show := func(args ...string) {
		r := say(t, args...)
		if r.status != exitDone || r.stderr != "" {
			t.Errorf("plimsoll %q: status %d, %q", args, r.status, r.stderr)
		}
		said.add(args, r)
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[1:]
		if len(words) > 0 && words[0] == "completion" && len(words) > 1 {
			return // cobra's own.
		}
		show(append([]string{"help"}, words...)...)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).rootCommand())
	said.check(t, "help.txt", golden.Text(os.TempDir(), "TMP"))
}

// TestExitTable holds the manual to the table that the help prints.
func TestExitTable(t *testing.T) {
	b, err := os.ReadFile("../../docs/reference/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range exits {
		if e.status != i {
			t.Errorf("the table's row %d is of status %d", i, e.status)
		}
		row := fmt.Sprintf("| %d | %s |\n", e.status, strings.ReplaceAll(e.long, "'plimsoll run --resume'", "`plimsoll run --resume`"))
		if !strings.Contains(string(b), row) {
			t.Errorf("docs/reference/exit-codes.md lacks the row %s", row)
		}
	}
	if n := strings.Count(string(b), "\n| "); n != len(exits)+1 {
		t.Errorf("docs/reference/exit-codes.md has %d rows, want %d below the heading", n, len(exits))
	}
}

// TestEveryCommandHasJSON holds the README to its word: --json and examples everywhere.
func TestEveryCommandHasJSON(t *testing.T) {
	root := (&app{}).rootCommand()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		// Commands that only print help, and the scripts for shells, print no data. Another tool's
		// dialect has that tool's words and no others.
		if c.DisableFlagParsing || c.HasSubCommands() || !c.Runnable() || c.Name() == "help" || c.Parent().Name() == "completion" {
			return
		}
		// Another tool's line has that tool's output.
		// An OCI runtime calls the hook, which writes what it says to standard error.
		// Some commands about volumes print an archive or a folder, or only that they are done.
		done := regexp.MustCompile(`^plimsoll volume (export|import|migrate|mount|unmount|receive|restore|rm|backup (check|restore|rm)|snapshot (clone|hooks|restore|rm))$`)
		if c.Flags().Lookup("json") == nil && c.CommandPath() != "plimsoll limit hook" && !done.MatchString(c.CommandPath()) {
			t.Errorf("%s has no --json", c.CommandPath())
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
	walk(root)
}

func TestVersion(t *testing.T) {
	r := say(t, "version")
	hash, err := workerbin.Hash("linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"plimsoll  " + version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, "linux/amd64 sha256:" + hash, "linux/arm64 sha256:"} {
		r.wantOutput(t, exitDone, want)
	}
	r = say(t, "version", "--json")
	var b buildInfo
	mustDo(t, json.Unmarshal([]byte(r.stdout), &b))
	if b.Version != version || b.Go != runtime.Version() {
		t.Errorf("version --json = %+v, want version %s and %s", b, version, runtime.Version())
	}
	if got := b.Workers["linux/amd64"]; got != hash {
		t.Errorf("version --json has the worker %s, want %s", got, hash)
	}
}

// TestCompletion lets each shell that is here read its script, and asks what bash
// would ask.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		r := say(t, "completion", shell)
		r.wantOutput(t, exitDone, "plimsoll")
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		check := exec.Command(path, "-n")
		check.Stdin = strings.NewReader(r.stdout)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s -n: %v\n%s", shell, err, out)
		}
	}
	state := recorded(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"ru"}, "run\t"},
		{[]string{"help", "exit"}, "exit-codes\t"},
		{[]string{"run", ""}, "places\n"},
		{[]string{"plan", "show", ""}, "places\n"},
		{[]string{"run", "--qu"}, "--quick\t"},
		{[]string{"results", "show", "--state", state, ""}, oldRun + "\t"},
		{[]string{"run", "--resume", "--state", state, ""}, oldRun + "\t"},
		{[]string{"report", "--state", state, "la"}, "last\t"},
	} {
		var out, errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
		status := a.run(t.Context(), append([]string{"__complete"}, tt.args...))
		if status != exitDone || !strings.Contains(out.String(), tt.want) {
			t.Errorf("completing %q: status %d, %q, %q; want %q", tt.args, status, out.String(), errs.String(), tt.want)
		}
	}
	// Looking for runs makes no database.
	empty := filepath.Join(t.TempDir(), "none")
	a := &app{stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	a.run(t.Context(), []string{"__complete", "results", "show", "--state", empty, ""})
	if _, err := os.Stat(empty); !os.IsNotExist(err) {
		t.Errorf("completing made %s: %v", empty, err)
	}
}

// TestWriteErrorsNameTheFile: an error names the user's file, not the
// temporary one beside it.
func TestWriteErrorsNameTheFile(t *testing.T) {
	state := recorded(t)
	for _, tt := range []struct{ file, want string }{
		{filepath.Join(t.TempDir(), "none", "r.json"), "no such file or directory"},
		{"/proc/r.json", "/proc/r.json: "},
		{filepath.Join(makeDir(t, "r.json")), "it is a folder"},
	} {
		for _, args := range [][]string{{"report", "last"}, {"results", "export", "last"}} {
			args = append(args, "-o", tt.file)
			r := plimsoll(t, t.Context(), state, "", args...)
			r.wantError(t, exitFailure, "write "+tt.file+": ", tt.want)
			if strings.Contains(r.stderr, ".r.json-") {
				t.Errorf("%q names the temporary file: %s", args, r.stderr)
			}
		}
	}
}

// makeDir makes a folder of that name.
func makeDir(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	mustDo(t, os.Mkdir(dir, 0o755))
	return dir
}

// TestResultsLsOtherPlan: that a plan has no runs is not that there are none.
func TestResultsLsOtherPlan(t *testing.T) {
	state, _ := recordedRuns(t)
	var said transcript
	for _, name := range []string{"nosuch", "mixd"} {
		args := []string{"ls", "--plan", name}
		said.add(append([]string{"results"}, args...), plimsollResults(state, args...))
	}
	said.check(t, "results-ls-plan.txt", golden.Text(state, "STATE"))
}

// TestResultsRmJSON: programs learn which runs were removed.
func TestResultsRmJSON(t *testing.T) {
	state, trials := recordedRuns(t)
	for _, tt := range []struct {
		args []string
		want results.Removal
	}{
		{[]string{badRun}, results.Removal{Removed: []string{badRun}, Trials: len(trials)}},
		{[]string{"--all"}, results.Removal{Removed: []string{newRun, oldRun}, Trials: 24}},
		{[]string{"--all"}, results.Removal{Removed: []string{}, Trials: 0}},
	} {
		r := plimsollResults(state, append([]string{"rm", "--yes", "--json"}, tt.args...)...)
		if r.status != exitDone {
			t.Errorf("rm --json %q: status %d, %q", tt.args, r.status, r.stderr)
		}
		var got results.Removal
		mustDo(t, json.Unmarshal([]byte(r.stdout), &got))
		if d := cmp.Diff(tt.want, got); d != "" { // An empty list is not null.
			t.Errorf("rm --json %q (-want +got):\n%s", tt.args, d)
		}
	}
}
