package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/testkit/golden"
	"plimsoll/plans"
)

// runPlan runs "plimsoll plan args..." with stdin.
func runPlan(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}
	status = a.run(context.Background(), append([]string{"plan"}, args...))
	return status, out.String(), errs.String()
}

// TestOnlyTwice: the cells that both name; the first was lost.
func TestOnlyTwice(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := runPlan("", "check", "places", "--only", "engine=oci", "--only", "place=bind,workload=wal")
	if status != exitDone || !strings.Contains(stdout, "1 workload in 1 place") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	status, stdout, stderr = runPlan("", "check", "places", "--only", "engine=host", "--only", "engine=oci")
	if status != exitUsage || !strings.Contains(stderr, "no cell is left") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
}

func TestPlanRefuses(t *testing.T) {
	folder := t.TempDir()
	broken := filepath.Join(folder, "broken.yaml")
	if err := os.WriteFile(broken, []byte("name: t\nblok: 3\nengines: [hots]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"nosuch"}, `has no command "nosuch"`},
		{"", []string{"ls", "x"}, "takes no argument"},
		{"", []string{"schema", "x"}, "takes no argument"},
		{"", []string{"show"}, "takes the name of a built-in plan"},
		{"", []string{"check", "a", "b"}, "takes the name"},
		{"", []string{"check", "nosuch"}, `there is no file and no built-in plan "nosuch"; built in: caps, neighbours, places, raw-write, site-build`},
		{"", []string{"check", filepath.Join(folder, "nosuch.yaml")}, "no such file"},
		{"", []string{"check", folder}, "is a directory"},
		{"", []string{"check", "-"}, "plimsoll: standard input:1:1: the plan is empty"},
		{strings.Repeat(" ", strict.MaxSize+1), []string{"check", "-"}, "larger than 1048576 bytes"},
		{"", []string{"check", broken}, broken + ":2:1: a plan has no key \"blok\", did you mean blocks?"},
		{"", []string{"check", broken}, broken + ":3:11: engines.0: wants one of host, oci, docker, vm"},
		{"", []string{"check", broken}, "plimsoll: " + broken + " has 4 faults"},
		{"", []string{"check", broken, "--json"}, broken + " has 4 faults"},
		{"", []string{"show", broken}, "has 4 faults"},
		{"", []string{"check", "places", "--only", "engine=hots"}, "--only engine=hots: no engine"},
		{"", []string{"check", "places", "--blocks", "x"}, "--blocks x: blocks: wants a whole number"},
		{"", []string{"check", "places", "--blocks"}, "needs an argument"},
		{"", []string{"show", "places", "--set", "workloads.apend.count=1"}, "did you mean append?"},
	} {
		status, stdout, stderr := runPlan(tt.stdin, tt.args...)
		if status != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("plan %q: status %d, %q, want %d and %q", tt.args, status, stderr, exitUsage, tt.want)
		}
		if asJSON := tt.args[len(tt.args)-1] == "--json"; asJSON != (stdout != "") {
			t.Errorf("plan %q printed %q", tt.args, stdout)
		}
	}
}

func TestPlanLs(t *testing.T) {
	status, stdout, stderr := runPlan("", "ls")
	if status != 0 || stderr != "" {
		t.Errorf("plan ls: %d, %q", status, stderr)
	}
	golden.Check(t, "plan-ls.txt", stdout)
	var rows []struct {
		Name  string
		Cells int
	}
	_, stdout, _ = runPlan("", "ls", "--json")
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil || len(rows) != len(plans.Names()) || rows[0].Cells == 0 {
		t.Errorf("plan ls --json: %v, %v", rows, err)
	}
}

func TestPlanShow(t *testing.T) {
	text, err := plans.Get("places")
	if err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := runPlan("", "show", "places"); stdout != string(text) {
		t.Errorf("plan show places differs from the file:\n%s", stdout)
	}
	_, stdout, stderr := runPlan("", "show", "places", "--quick", "--seed", "7", "--only", "engine=host")
	p, err := plan.Parse("shown", []byte(stdout))
	if err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	if p.Blocks != 3 || p.Seed != 7 || len(p.Cells()) != 27 {
		t.Errorf("plan show with flags: blocks %d, seed %d, %d cells", p.Blocks, p.Seed, len(p.Cells()))
	}
	_, stdout, _ = runPlan(string(text), "show", "-", "--json")
	if i, j := strings.Index(stdout, `"workloads"`), strings.Index(stdout, `"engines"`); !json.Valid([]byte(stdout)) || i < 0 || j < i {
		t.Errorf("plan show --json is not JSON in the order of the file:\n%s", stdout)
	}
}

func TestPlanCheck(t *testing.T) {
	var all strings.Builder
	for _, args := range [][]string{
		{"check", "places"},
		{"check", "places", "--set", "clients=[1, 2]", "--set", "limits={none: {}, slow: {write_bps: 10MiB}}"},
		{"check", "places", "--only", "engine=oci,workload=wal|tree"}, // One engine of the plan's three is left.
	} {
		status, stdout, stderr := runPlan("", args...)
		if status != exitDone || stderr != "" {
			t.Errorf("plan %q: %d, %q", args, status, stderr)
		}
		all.WriteString(stdout)
	}
	golden.Check(t, "plan-check.txt", all.String())
	var report struct {
		OK     bool
		Cells  int
		Trials int
		Keys   []string
		Faults []struct {
			Line, Column  int
			Flag, Message string
		}
	}
	_, stdout, _ := runPlan("", "check", "places", "--json")
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || !report.OK || report.Cells != 99 || report.Trials != 594 || report.Keys[0] != "randread-deep/host/dir" {
		t.Errorf("plan check --json: %v, %s", err, stdout)
	}
	_, stdout, _ = runPlan("name: t\n blok: 1\n", "check", "-", "--json")
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || report.OK || len(report.Faults) != 1 || report.Faults[0].Line == 0 {
		t.Errorf("plan check --json of a fault: %v, %s", err, stdout)
	}
}

func TestPlanSchema(t *testing.T) {
	status, stdout, _ := runPlan("", "schema")
	if status != 0 || stdout != string(plan.Schema()) {
		t.Errorf("plan schema: %d, %.80q", status, stdout)
	}
}

// TestPlanHelp checks that every command explains itself with an example.
func TestPlanHelp(t *testing.T) {
	a := &app{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	cmd := a.planCommand()
	for _, c := range append(cmd.Commands(), cmd) {
		if c.Long == "" || (c.Example == "" && c.Name() != "ls") {
			t.Errorf("%s has no description or no example", c.CommandPath())
		}
	}
}
