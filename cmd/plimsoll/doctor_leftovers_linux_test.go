package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/doctor"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/loopdisk"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/texttest"
)

// TestDoctorLeftovers: what runs record is shown with whether its process runs, and what an ended one left is removed, and nothing else.
func TestDoctorLeftovers(t *testing.T) {
	t.Parallel()
	dir, machine := t.TempDir(), t.TempDir()
	setVariable(t, paths.MachineVar, machine)
	ask := func(want int, flags ...string) result {
		t.Helper()
		r := plimsoll(t, t.Context(), dir, "", append([]string{"doctor"}, flags...)...)
		if r.status != want {
			t.Errorf("doctor %q: status %d, want %d\n%s", flags, r.status, want, r.stderr)
		}
		return r
	}
	if r := ask(exitDone, "--leftovers"); !strings.HasPrefix(r.stdout, "Nothing is recorded in ") {
		t.Errorf("of nothing: %q", r.stdout)
	}
	if r := ask(exitDone, "--leftovers", "--json"); r.stdout != "[]\n" {
		t.Errorf("of nothing: %q", r.stdout)
	}
	// A name that is mistyped is not taken for a folder without records.
	gone := filepath.Join(dir, "gone")
	for _, flag := range []string{"--leftovers", "--sweep"} {
		if r := plimsoll(t, t.Context(), gone, "", "doctor", flag); r.status != exitDone || r.stdout != "" || !strings.Contains(r.stderr, "There is no folder "+gone) {
			t.Errorf("%s without a folder: %q, %q", flag, r.stdout, r.stderr)
		}
	}
	mine := journal.In(dir)
	if err := mine.Put(t.Context(), "host-session", "living", map[string][]string{"paths": nil}); err != nil {
		t.Fatal(err)
	}
	for _, disk := range []string{"left", "odd\x1b[2J"} {
		journaltest.Dead(t, dir, loopdisk.Kind, disk, nil)
		if err := os.MkdirAll(filepath.Join(dir, "disks", disk, "mnt"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	journaltest.Dead(t, machine, "keeper", "daemon", nil)
	journaltest.Dead(t, dir, "later", "unknown", nil) // Of a later version.
	for kind, payload := range map[string]any{
		"device-limit": hold.DeviceLimit{Disk: "loop0", For: "volume:docker:data", Device: device.Number{Major: 7}, Limits: limit.Limits{WriteBPS: 1 << 20}, Boot: "an earlier one"},
		"limit-set":    []map[string]string{{"group": "/shop/gone"}, {"group": "/shop/gone/below"}},
	} {
		if err := journal.In(machine).Keep(t.Context(), kind, "7:0", payload); err != nil {
			t.Fatal(err)
		}
	}
	r := ask(exitDone, "--leftovers")
	texttest.Has(t, r.stdout, []string{"loop-disk     left ", "host-session  living ", " runs ", " ended ", "none: it stays", "loop0 for volume:docker:data\n", " /shop/gone\n", "ended; no sweep knows the kind"})
	if want := "3 of 7 belong to processes that have ended: plimsoll doctor --sweep --state " + dir + " removes them"; strings.Contains(r.stdout, "\x1b") || !strings.Contains(r.stderr, want) {
		t.Errorf("%q\n%q, want %q", r.stdout, r.stderr, want)
	}
	var all []doctor.Leftover
	if err := json.Unmarshal([]byte(ask(exitDone, "--leftovers", "--json").stdout), &all); err != nil || doctor.Sweepable(all) != 3 {
		t.Errorf("--leftovers --json: %+v, %v, want 3 that are sweepable", all, err)
	}
	if r := ask(exitDone, "--sweep"); strings.Count(r.stdout, "removed disk ") != 2 || !strings.Contains(r.stdout, "removed the record of a daemon") {
		t.Errorf("--sweep: %q", r.stdout)
	}
	if r := ask(exitDone, "--sweep"); r.stdout != "" || r.stderr != "There was nothing to remove: 1 of 4 belong to running processes.\n" {
		t.Errorf("a second --sweep: %q, %q", r.stdout, r.stderr)
	}
	if r := ask(exitDone, "--sweep", "--json"); r.stdout != "[]\n" {
		t.Errorf("--sweep of nothing: %q", r.stdout)
	}
	ask(exitUsage, "--sweep", "--leftovers")
	if err := errors.Join(journal.In(dir).Discard(t.Context(), "later", "unknown"), journal.In(machine).Discard(t.Context(), "limit-set", "7:0")); err != nil {
		t.Fatal(err)
	}
	var list []doctor.Leftover
	if err := json.Unmarshal([]byte(ask(exitDone, "--leftovers", "--json").stdout), &list); err != nil || len(list) != 2 {
		t.Fatalf("after it: %+v, %v; want two", list, err)
	}
	if one := list[0]; one.ID != "living" || one.PID != os.Getpid() || one.Ended {
		t.Errorf("after it: %+v, want this process's", one)
	}
	if !list[1].Kept {
		t.Errorf("after it: %+v, want it kept", list[1])
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "disks")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// An entry that can't be read is reported, and the rest is shown.
	for _, kind := range []string{loopdisk.Kind, "limit-set"} {
		torn := filepath.Join(dir, "journal", kind, "torn.json")
		if err := os.MkdirAll(filepath.Dir(torn), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(torn, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := ask(exitFailure, "--leftovers"); !strings.Contains(r.stdout, "living") || !strings.Contains(r.stderr, torn) {
			t.Errorf("with a torn entry: %q, %q", r.stdout, r.stderr)
		}
		if r := ask(exitFailure, "--sweep"); !strings.Contains(r.stderr, torn) {
			t.Errorf("--sweep with a torn entry: %q, %q", r.stdout, r.stderr)
		}
		if err := os.Remove(torn); err != nil {
			t.Fatal(err)
		}
	}
	// What a version before the journal recorded is not passed over.
	if err := os.WriteFile(filepath.Join(dir, "device-wide.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"doctor", "--leftovers"}, {"doctor", "--sweep"}, {"run", "--quick"}, {"limit", "show"}, {"dd", "if=/dev/zero", "of=x", "count=1"}} {
		if r := plimsoll(t, t.Context(), dir, "", args...); r.status != exitUsage || !strings.Contains(r.stderr, "records of an older plimsoll") {
			t.Errorf("%q with records of an older version: status %d, %q", args, r.status, r.stderr)
		}
	}
	// Its owner lived until here: the journal's lock is free as soon as nothing refers to it.
	if err := mine.Remove("host-session", "living"); err != nil {
		t.Error(err)
	}
}
