package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

func TestResultsRefuses(t *testing.T) {
	state, _ := results(t)
	empty := filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		state string
		args  []string
		want  string
	}{
		{state, []string{"frobnicate"}, `no command "frobnicate"`},
		{state, []string{"ls", "x"}, "takes no argument"},
		{state, []string{"ls", "--colour"}, "unknown flag"},
		{state, []string{"show"}, "takes one run"},
		{state, []string{"show", "nonesuch"}, "not known"},
		{state, []string{"show", "2026112"}, "ambiguous: " + badRun},
		{state, []string{"show", "last", "--block", "1"}, "--block needs --trial"},
		{state, []string{"show", "last", "--block", "1", "--trial", ""}, "needs the key"},
		{state, []string{"show", "last", "--block", "0", "--trial", "mixed/host/dir"}, "blocks count from 1"},
		{state, []string{"show", "last", "--block", "9", "--trial", "mixed/host/dir"}, "has no trial mixed/host/dir in block 9"},
		{state, []string{"export"}, "needs a run"},
		{state, []string{"export", "last", "--format", "xml"}, `unknown format "xml"`},
		{state, []string{"export", "last", "-o", filepath.Join(state, "x.pdf")}, `unknown format "pdf"`},
		{state, []string{"export", "last~3"}, "not known"},
		{state, []string{"rm"}, "needs a run"},
		{state, []string{"rm", "--all", "last"}, "not both"},
		{state, []string{"rm", "last"}, "give --yes"},
		{state, []string{"rm", "--all"}, "give --yes"},
		{state, []string{"rm", "last", "nonesuch", "--yes"}, "not known"},
		{empty, []string{"show", "last"}, "no run is recorded in " + empty},
		{empty, []string{"export", "last"}, "no run is recorded"},
		{empty, []string{"rm", "last", "--yes"}, "no run is recorded"},
	} {
		status, out, talk := plimsollResults(tt.state, tt.args...)
		if status != exitUsage || out != "" || !strings.Contains(talk, tt.want) {
			t.Errorf("results %v: status %d, stdout %q, stderr %q, want status 2 and %q", tt.args, status, out, talk, tt.want)
		}
	}
	if ids, err := openState(t, state).IDs(); err != nil || len(ids) != 3 {
		t.Errorf("a refused command removed something: %v, %v", ids, err)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("looking at results made a state folder")
	}
}

func TestResultsOfNothing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "none")
	if status, out, talk := plimsollResults(empty, "ls"); status != exitDone || out != "" || !strings.Contains(talk, "No run is recorded") {
		t.Errorf("ls: status %d, stdout %q, stderr %q", status, out, talk)
	}
	if status, out, _ := plimsollResults(empty, "ls", "--json"); status != exitDone || out != "[]\n" {
		t.Errorf("ls --json: status %d, stdout %q", status, out)
	}
	if status, _, talk := plimsollResults(empty, "rm", "--all", "--yes"); status != exitDone || !strings.Contains(talk, "No run is recorded") {
		t.Errorf("rm --all: status %d, stderr %q", status, talk)
	}
	if status, _, talk := plimsollResults(t.TempDir()+"/\x00", "ls"); status != exitFailure {
		t.Errorf("ls of a folder that can't be: status %d, %q", status, talk)
	}
}

func TestResultsLs(t *testing.T) {
	state, _ := results(t)
	want := `RUN                   PLAN    STARTED              BLOCKS  TRIALS  FAILED  STATUS
20261123-090000-bbbb  mixed   2026-11-23 09:00:00  2/3     4       1       broken (resume with plimsoll run --resume)
20261122-090000-aaaa  places  2026-11-22 09:00:00  6/6     12      0       done
20261121-153000-3f9a  places  2026-11-21 09:00:00  6/6     12      0       done
`
	if status, out, talk := plimsollResults(state, "ls"); status != exitDone || talk != "" || out != want {
		t.Errorf("ls: status %d, stderr %q (-want +got):\n%s", status, talk, cmp.Diff(want, out))
	}
	release, err := openState(t, state).Own(badRun)
	mustDo(t, err)
	defer release()
	_, out, _ := plimsollResults(state, "ls", "--json", "--plan", "mixed")
	var rows []resultRow
	mustDo(t, json.Unmarshal([]byte(out), &rows))
	wantRows := []resultRow{{ID: badRun, Plan: "mixed", Started: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), Status: record.Running, Quick: true, Seed: 7,
		Blocks: 3, BlocksDone: 2, Trials: 4, Failed: 1, Command: "plimsoll run mixed.yaml --seed 7"}}
	if d := cmp.Diff(wantRows, rows); d != "" {
		t.Errorf("ls --json of a run that is alive (-want +got):\n%s", d)
	}
}

func TestResultsShow(t *testing.T) {
	state, _ := results(t)
	status, out, talk := plimsollResults(state, "show", "last")
	if status != exitDone || talk != "" {
		t.Fatalf("status %d, stderr %q", status, talk)
	}
	// Spaces are the table's business.
	got := regexp.MustCompile(` +`).ReplaceAllString(out, " ")
	for _, want := range []string{
		"Run 20261123-090000-bbbb, broken (resume with plimsoll run --resume)\n", "Plan mixed, 3 blocks, seed 7, margin 0.05", "too few blocks to prove anything", "Command plimsoll run mixed.yaml --seed 7",
		"quay: Debian 12, 6.1.0, amd64, 2 CPUs (Some CPU), 8 GiB of memory, cgroup v2, clock tsc", "a virtual machine (kvm)", "5.1 M I/Os",
		"mixed: psync, docker volume forbids", "1 cell of docker volume at mixed: no daemon answers",
		"doubt (quick): Three blocks prove nothing.",
		"mixed/host/dir 2 0 2 1.5 k/s 1.5 k/s 1.5 k/s 100 µs ", "mixed/host/volume 1 1 1 ", "note (clock): The clock was set.\n in 4 trials; ",
		"Failed\n mixed/host/volume, block 2\n in measure: =killed again\n it got as far as: 3 of 5 s\n | first?[31m line\n | second line\n at its end: worker trial (process 7): 1 ?[31mstopped\n",
		"Warnings of trials\n doubt (steady): The rate fell by 10 % to 1.5 KiB.\n in 4 trials; the figures are those of mixed/host/dir, block 1\n note (clock)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("show lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestResultsShowTrial(t *testing.T) {
	state, trials := results(t)
	_, out, _ := plimsollResults(state, "show", badRun, "--trial", "mixed/host/dir", "--block", "2")
	got := regexp.MustCompile(` +`).ReplaceAllString(out, " ")
	for _, want := range []string{
		// Its Order is 100: cells were skipped.
		"Trial mixed/host/dir, block 2, the 3rd of 4 in run " + badRun + ", done", "Value 1.5 k/s (IOPS)", "Client 2 6 s with psync",
		"read: 1000 operations, 3.91 MiB; latency p50 100 µs", "unknown by its cgroup", "ext4 on /dev/vda1", "doubt (steady): The rate fell by 12 % to 1.3 KiB.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("show --trial lacks %q:\n%s", want, out)
		}
	}
	_, out, _ = plimsollResults(state, "show", badRun, "--trial", "mixed/host/volume", "--block", "2")
	for _, want := range []string{"Attempt 1 of 2\n", "killed: out of memory", "Attempt 2 of 2\n", "=killed again"} {
		if !strings.Contains(out, want) {
			t.Errorf("show --trial of one that was tried again lacks %q:\n%s", want, out)
		}
	}
	_, out, _ = plimsollResults(state, "show", badRun, "--trial", "mixed/host/dir", "--block", "1", "--json")
	var all []record.Trial
	mustDo(t, json.Unmarshal([]byte(out), &all))
	if d := cmp.Diff(trials[:1], all); d != "" {
		t.Errorf("show --trial --json (-want +got):\n%s", d)
	}
}

// TestResultsDamaged shows and exports what is left.
func TestResultsDamaged(t *testing.T) {
	state, _ := results(t)
	raw, err := sql.Open("sqlite", filepath.Join(state, "plimsoll.db"))
	mustDo(t, err)
	defer raw.Close()
	_, err = raw.Exec("UPDATE trials SET record = x'00' WHERE run = ? AND block = 0 AND ord = 50", badRun)
	mustDo(t, err)
	_, err = raw.Exec("UPDATE runs SET record = '{' WHERE id = ?", oldRun)
	mustDo(t, err)
	status, out, talk := plimsollResults(state, "ls")
	if status != exitFailure || !strings.Contains(out, badRun) || strings.Contains(out, oldRun) || !strings.Contains(talk, "the record of run "+oldRun+" is damaged") {
		t.Errorf("ls: status %d, stdout %q, stderr %q", status, out, talk)
	}
	status, out, talk = plimsollResults(state, "show", badRun)
	if status != exitFailure || !strings.Contains(out, "mixed/host/dir") || !strings.Contains(talk, "trial mixed/host/volume, block 1, attempt 1 is damaged") {
		t.Errorf("show: status %d, stdout %q, stderr %q", status, out, talk)
	}
	file := filepath.Join(state, "x.json")
	status, _, talk = plimsollResults(state, "export", badRun, oldRun, "-o", file)
	if status != exitFailure || !strings.Contains(talk, "2 records can't be read") {
		t.Errorf("export: status %d, stderr %q", status, talk)
	}
	var got exported
	b, err := os.ReadFile(file)
	mustDo(t, err)
	mustDo(t, json.Unmarshal(b, &got))
	if len(got.Runs) != 2 || len(got.Runs[0].Trials) != 3 || len(got.Runs[1].Trials) != 12 {
		t.Errorf("the export lacks what can be read")
	}
	if status, _, talk := plimsollResults(state, "rm", "--all", "--yes"); status != exitDone {
		t.Errorf("rm --all: status %d, stderr %q", status, talk)
	}
	if ids, err := openState(t, state).IDs(); err != nil || len(ids) != 0 {
		t.Errorf("rm --all left %v, %v", ids, err)
	}
}

func TestResultsRm(t *testing.T) {
	state, _ := results(t)
	db := openState(t, state)
	release, err := db.Own(badRun)
	mustDo(t, err)
	for _, args := range [][]string{{"rm", oldRun, "last", "--yes"}, {"rm", "--all", "--yes"}} {
		if status, _, talk := plimsollResults(state, args...); status != exitFailure || !strings.Contains(talk, "run "+badRun+" is being measured") {
			t.Errorf("results %v of a run that is alive: status %d, stderr %q", args, status, talk)
		}
	}
	if ids, _ := db.IDs(); len(ids) != 3 {
		t.Errorf("a refused rm left %v", ids)
	}
	mustDo(t, release())
	status, out, talk := plimsollResults(state, "rm", "last", oldRun, badRun, "--yes")
	if want := "removed 2 runs (" + badRun + ", " + oldRun + ") with 16 trials\n"; status != exitDone || out != "" || talk != want {
		t.Errorf("rm: status %d, stdout %q, stderr %q, want %q", status, out, talk, want)
	}
	if ids, _ := db.IDs(); len(ids) != 1 || ids[0] != newRun {
		t.Errorf("rm left %v", ids)
	}
}

// TestTrialOnTwoGrounds shows a trial whose clients stand on two disks.
func TestTrialOnTwoGrounds(t *testing.T) {
	tr := record.Trial{
		Results: []workload.Result{{}, {}},
		Where: []record.Where{
			{FSType: "ext4", Source: "/dev/vda1", Device: &record.Device{Name: "vda", Major: 254}},
			{FSType: "xfs", Source: "/dev/vdb", Host: "node2", Device: &record.Device{Name: "vdb", Major: 254, Minor: 16}},
		},
		Truth: []record.Truth{{AppRead: 1 << 20, Device: "vda", DeviceRead: 1 << 20}, {AppRead: 2 << 20, Device: "vdb", DeviceRead: 3 << 20}},
	}
	var out strings.Builder
	printTrial(&out, &tr, 1, 1)
	for _, want := range []string{"Clients 1:", "ext4 on /dev/vda1", "Clients 2:", "xfs on /dev/vdb", "on machine node2", "2 MiB by the application", "3 MiB from the device"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printTrial lacks %q:\n%s", want, out.String())
		}
	}
}

// TestSkippedOnce: one missing daemon is told once, and not for each of its cells.
func TestSkippedOnce(t *testing.T) {
	var all []record.Skip
	for _, w := range []string{"a", "b", "c"} {
		for _, p := range []string{"bind", "layer"} {
			all = append(all, record.Skip{Cell: record.Cell{Workload: w, Engine: "docker", Place: p, Clients: 1}, Reason: "no daemon answers"})
		}
	}
	all = append(all, record.Skip{Cell: record.Cell{Workload: "a", Engine: "oci", Place: "volume", Clients: 1}, Reason: "it has none"})
	var b bytes.Buffer
	printSkipped(&b, all)
	want := "  6 cells of docker bind, docker layer at 3 workloads: no daemon answers\n  1 cell of oci volume at a: it has none\n"
	if b.String() != want {
		t.Errorf("printSkipped = \n%swant\n%s", b.String(), want)
	}
}
