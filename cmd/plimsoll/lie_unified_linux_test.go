package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"plimsoll/internal/disktest"
	"plimsoll/internal/limit/target"
	"plimsoll/internal/watch"
)

// Lies that version 2 of control groups alone can tell.

// TestLieParentLimit: the group above a limited one has a lower limit, and one above a group without limits has one: verify did not know
// what was slower, and show and watch said that there was no limit.
func TestLieParentLimit(t *testing.T) {
	needRun(t)
	parent := disktest.NewUnifiedGroup(t, "io", "memory")
	group := parent.Child(t, "io", "memory")
	loop, dir := disktest.Disk(t, disktest.Options{Size: 256 << 20, Memory: true})
	if err := parent.Put("io.max", disktest.Number(t, loop)+" wbps=1048576"); err != nil {
		t.Fatal(err)
	}
	l := limitLab{target.Options{}, t.TempDir()}
	name, above := "cgroup:"+string(group), "/"+filepath.Base(string(parent))
	l.says(t, exitDone, []string{above + " above it has write_bps=1MiB on " + filepath.Base(loop)}, "show", name)
	wait := inGroup(t, group, "exec dd if=/dev/zero of="+dir+"/file bs=64k count=96 oflag=direct") // 6 s.
	r := plimsoll(t, t.Context(), l.state, "", "watch", name, "--once", "--json", "--interval", "3s")
	wait()
	var i watch.Interval
	if err := json.Unmarshal([]byte(r.stdout), &i); err != nil || len(i.Subjects) != 1 {
		t.Fatalf("status %d, %v: %s%s", r.status, err, r.stdout, r.stderr)
	}
	// An emulated processor stands still at times.
	if !slices.ContainsFunc(i.Subjects[0].Rates, func(r watch.Rate) bool {
		return r.Group == above && r.Asked == 1<<20 && r.Seen != nil && *r.Seen > 0.3*(1<<20)
	}) {
		t.Errorf("watch: %s", r.stdout)
	}
	l.says(t, exitCannot, []string{"unproved: ", above + " above it has write_bps of 1MiB"}, "verify", name, "--path", dir, "--write-bps", "8MiB", "--modes", "direct", "--time", "3s")
}
