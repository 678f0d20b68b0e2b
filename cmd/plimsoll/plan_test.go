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
func runPlan(stdin string, args ...string) result {
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}
	status := a.run(context.Background(), append([]string{"plan"}, args...))
	return result{status, out.String(), errs.String()}
}

// TestPlanRefuses: what can't be meant is wrong usage, with each fault and its position.
func TestPlanRefuses(t *testing.T) {
	folder := t.TempDir()
	mustDo(t, os.WriteFile(filepath.Join(folder, "broken.yaml"), []byte("name: t\nblok: 3\nengines: [hots]\n"), 0o600))
	var said transcript
	for _, tt := range []struct {
		stdin string
		args  []string
	}{
		{"", []string{"nosuch"}},
		{"", []string{"ls", "x"}},
		{"", []string{"schema", "x"}},
		{"", []string{"show"}},
		{"", []string{"check", "a", "b"}},
		{"", []string{"check", "nosuch"}},
		{"", []string{"check", filepath.Join(folder, "nosuch.yaml")}},
		{"", []string{"check", folder}},
		{"", []string{"check", "-"}},
		{strings.Repeat(" ", strict.MaxSize+1), []string{"check", "-"}},
		{"", []string{"check", filepath.Join(folder, "broken.yaml")}},
		{"", []string{"check", filepath.Join(folder, "broken.yaml"), "--json"}},
		{"", []string{"show", filepath.Join(folder, "broken.yaml")}},
		{"", []string{"check", "places", "--only", "engine=hots"}},
		{"", []string{"check", "places", "--only", "engine=host", "--only", "engine=oci"}},
		{"", []string{"check", "places", "--blocks", "x"}},
		{"", []string{"check", "places", "--blocks"}},
		{"", []string{"show", "places", "--set", "workloads.apend.count=1"}},
	} {
		r := runPlan(tt.stdin, tt.args...)
		if r.status != exitUsage {
			t.Errorf("plan %q: status %d, want %d", tt.args, r.status, exitUsage)
		}
		said.add(append([]string{"plan"}, tt.args...), r)
	}
	said.check(t, "plan-refuses.txt", golden.Text(folder, "DIR"))
}

func TestPlanLs(t *testing.T) {
	r := runPlan("", "ls")
	if r.status != exitDone || r.stderr != "" {
		t.Errorf("plan ls: %d, %q", r.status, r.stderr)
	}
	golden.Check(t, "plan-ls.txt", r.stdout)
	var rows []struct {
		Name  string
		Cells int
	}
	mustDo(t, json.Unmarshal([]byte(runPlan("", "ls", "--json").stdout), &rows))
	if len(rows) != len(plans.Names()) || rows[0].Cells == 0 {
		t.Errorf("plan ls --json: %v", rows)
	}
}

func TestPlanShow(t *testing.T) {
	text, err := plans.Get("places")
	if err != nil {
		t.Fatal(err)
	}
	if stdout := runPlan("", "show", "places").stdout; stdout != string(text) {
		t.Errorf("plan show places differs from the file:\n%s", stdout)
	}
	changed := runPlan("", "show", "places", "--quick", "--seed", "7", "--only", "engine=host").stdout
	golden.Check(t, "plan-show.txt", changed)
	if _, err := plan.Parse("shown", []byte(changed)); err != nil {
		t.Errorf("what it shows is no plan: %v", err)
	}
	golden.Check(t, "plan-show.json", runPlan("name: t\nworkloads: {a: {kind: append, count: 5}}\nengines: [host]\nplaces: {dir: {}}\n", "show", "-", "--json").stdout)
}

func TestPlanCheck(t *testing.T) {
	var all strings.Builder
	for _, args := range [][]string{
		{"check", "places"},
		{"check", "places", "--set", "clients=[1, 2]", "--set", "limits={none: {}, slow: {write_bps: 10MiB}}"},
		{"check", "places", "--only", "engine=oci,workload=wal|tree"},                    // One engine of the plan's three is left.
		{"check", "places", "--only", "engine=oci", "--only", "place=bind,workload=wal"}, // The cells that both name.
	} {
		r := runPlan("", args...)
		if r.status != exitDone || r.stderr != "" {
			t.Errorf("plan %q: %d, %q", args, r.status, r.stderr)
		}
		all.WriteString(r.stdout)
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
	stdout := runPlan("", "check", "places", "--json").stdout
	mustDo(t, json.Unmarshal([]byte(stdout), &report))
	if !report.OK {
		t.Error("plan check --json: not ok")
	}
	if report.Cells != 99 || report.Trials != 1980 {
		t.Errorf("plan check --json: %d cells, %d trials, want 99 and 1980", report.Cells, report.Trials)
	}
	if key := report.Keys[0]; key != "randread-deep/host/dir" {
		t.Errorf("plan check --json: the first key is %s", key)
	}
	stdout = runPlan("name: t\n blok: 1\n", "check", "-", "--json").stdout
	mustDo(t, json.Unmarshal([]byte(stdout), &report))
	if report.OK {
		t.Error("plan check --json of a fault: ok")
	}
	if len(report.Faults) != 1 || report.Faults[0].Line == 0 {
		t.Errorf("plan check --json of a fault: %s", stdout)
	}
}

func TestPlanSchema(t *testing.T) {
	want := result{exitDone, string(plan.Schema()), ""}
	if r := runPlan("", "schema"); r != want {
		t.Errorf("plan schema: %d, %.80q", r.status, r.stdout)
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
