package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/testkit/disktest"
)

// A changeJSON is what scripts read of set and clear.
type changeJSON struct {
	DryRun bool `json:"dry_run"`
	Set    map[string]any
	Remove []string
	Done   []struct {
		GroupSet struct{ Name string } `json:"group_set"`
		Diff     cgroup.Diff
		Writes   int
	}
	Implied []limit.Implied
}

// TestLimitJSON: what set and clear print with --json is what they asked the kernel for, or would.
func TestLimitJSON(t *testing.T) {
	l := newBadLab(t)
	number, before := disktest.Number(t, l.loop), l.kernel(t)
	do := func(args ...string) (got changeJSON) {
		t.Helper()
		r := plimsoll(t, t.Context(), l.state, "", append(append([]string{"limit"}, args...), "--json")...)
		if r.status != exitDone {
			t.Fatalf("%v: status %d: %s", args, r.status, r.stderr)
		}
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || len(got.Done) != 1 {
			t.Fatalf("%v: %v: %s", args, err, r.stdout)
		}
		return got
	}
	// edits are the lines that are written, of the device.
	edits := func(c changeJSON) (lines []string) {
		t.Helper()
		for _, e := range c.Done[0].Diff.Edits {
			if e.Device.String() != number || len(e.Keys) != 1 || filepath.Dir(e.File) != string(l.group) {
				t.Errorf("an edit: %+v", e)
			}
			lines = append(lines, string(e.Keys[0])+" "+strings.TrimPrefix(e.Text[0], number+" ")+" was "+strings.TrimPrefix(e.Was[0], number+" "))
		}
		slices.Sort(lines)
		return lines
	}
	is := func(when string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	did := func(when string, c changeJSON, dryRun bool, writes int, kernel string) {
		t.Helper()
		got := [...]any{c.DryRun, c.Done[0].Writes, l.kernel(t)}
		if want := [...]any{dryRun, writes, kernel}; got != want {
			t.Errorf("%s: dry_run, writes and the kernel's limits are %v, want %v", when, got, want)
		}
	}
	set := []string{"set", l.name, "--device", l.loop, "--write-bps", "8MiB", "--write-iops", "100", "--read-iops", "77"}
	got := do(append(set, "--dry-run")...)
	is("--dry-run", edits(got), "write_bps 8388608 was 1048576", "write_iops 100 was 0")
	did("--dry-run", got, true, 0, before)
	if n := got.Done[0].Diff.Held; n != 1 {
		t.Errorf("--dry-run: %d unchanged, want 1", n)
	}
	got = do(set...)
	is("set", edits(got), "write_bps 8388608 was 1048576", "write_iops 100 was 0")
	did("set", got, false, 2, "|8388608|77|100")
	if n := got.Done[0].Diff.Held; n != 1 {
		t.Errorf("set: %d unchanged, want 1", n)
	}
	if got.Set["write_bps"] != 8388608.0 {
		t.Errorf("set: %v", got.Set)
	}
	// Of 4 KiB the I/Os bind, of 1 MiB the bytes.
	small := slices.IndexFunc(got.Implied, func(i limit.Implied) bool { return i.Direction == "write" && i.BlockSize == 4<<10 })
	big := slices.IndexFunc(got.Implied, func(i limit.Implied) bool { return i.Direction == "write" && i.BlockSize == 1<<20 })
	if small < 0 || big < 0 {
		t.Fatalf("implied: %+v", got.Implied)
	}
	if i := got.Implied[small]; i.By != limit.WriteIOPS || i.IOPS != 100 || i.BPS != 400<<10 {
		t.Errorf("implied in I/Os of 4 KiB: %+v", i)
	}
	if i := got.Implied[big]; i.By != limit.WriteBPS || i.BPS != 8<<20 || i.IOPS != 8 {
		t.Errorf("implied in I/Os of 1 MiB: %+v", i)
	}
	if again := do(set...); again.Done[0].Writes != 0 || len(again.Done[0].Diff.Edits) != 0 || again.Done[0].Diff.Held != 3 {
		t.Errorf("again: %+v", again)
	}
	clear := []string{"clear", l.name, "--device", l.loop, "--only", "write_iops,write_bps"}
	got = do(append(clear, "--dry-run")...)
	is("clear --dry-run", edits(got), "write_bps 0 was 8388608", "write_iops 0 was 100")
	did("clear --dry-run", got, true, 0, "|8388608|77|100")
	got = do(clear...)
	is("clear", edits(got), "write_bps 0 was 8388608", "write_iops 0 was 100")
	is("clear removes", slices.Sorted(slices.Values(got.Remove)), "write_bps", "write_iops")
	did("clear", got, false, 2, "||77|")
	if len(got.Set) != 0 || len(got.Implied) != 0 {
		t.Errorf("clear sets %v and implies %+v, want nothing", got.Set, got.Implied)
	}
}
