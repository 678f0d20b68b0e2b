package main

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// TestRunUnlike: places on two disks are compared. While these are alike that is what the
// plan asks for; when one of them is mounted in another way, the run and its report say so.
func TestRunUnlike(t *testing.T) {
	needRun(t)
	t.Parallel() // Its disks are its own.
	_, first := disktest.Disk(t, disktest.Options{})
	_, second := disktest.Disk(t, disktest.Options{})
	plan := `
name: unlike
workloads: {w: {rw: randread, bs: 4KiB, size: 1MiB, direct: true, number_ios: 200}}
engines: [host]
places: {a: {kind: dir, path: ` + first + `}, b: {kind: dir, path: ` + second + `}}
blocks: 2
`
	for _, unlike := range []bool{false, true} {
		if unlike {
			disktest.Remount(t, second, unix.MS_NOATIME)
		}
		dir := t.TempDir()
		r := plimsoll(t, t.Context(), dir, plan, "run", "-")
		if r.status != exitDone {
			t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
		}
		run, trials := records(t, dir)
		places := byPlace(trials)
		if a, b := places["a"][0].Truth[0].Device, places["b"][0].Truth[0].Device; a == "" || b == "" || a == b {
			t.Fatalf("the places are on %q and %q", a, b)
		}
		i := slices.IndexFunc(run.Warnings, func(w record.Warning) bool { return w.Check == check.Unlike })
		if (i >= 0) != unlike {
			t.Errorf("unlike is %v, and the warnings are %+v", unlike, run.Warnings)
		}
		if i < 0 {
			continue
		}
		if text := run.Warnings[i].Text; !strings.Contains(text, "noatime") || !strings.Contains(unwrap(r.stdout), "differ in more than the plan varies") {
			t.Errorf("%q, want noatime, and printed:\n%s", text, r.stdout)
		}
	}
}
