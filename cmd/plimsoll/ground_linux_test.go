package main

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/check"
	"plimsoll/internal/record"
)

// TestRunUnlike: cells on two disks are compared, and the run says on what different
// ground they stand. The same disk twice is no finding.
func TestRunUnlike(t *testing.T) {
	needRun(t)
	first, second := loopExt4(t, 64<<20), loopExt4(t, 32<<20)
	for _, row := range []struct {
		a, b   string
		unlike bool
	}{{first, second, true}, {first, first, false}} {
		dir := t.TempDir()
		plan := `
name: unlike
workloads: {w: {rw: randread, bs: 4KiB, size: 1MiB, direct: true, runtime: 20ms}}
engines: [host]
places: {a: {kind: dir, path: ` + row.a + `}, b: {kind: dir, path: ` + row.b + `}}
blocks: 2
`
		r := plimsoll(t, t.Context(), dir, plan, "run", "-")
		if r.status != exitDone {
			t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
		}
		run, trials := records(t, dir)
		devices := map[string]string{}
		for _, tr := range trials {
			devices[tr.Cell.Place] = tr.Truth.Device
		}
		if (devices["a"] != devices["b"]) != row.unlike || devices["a"] == "" {
			t.Fatalf("the places are on %v", devices)
		}
		i := slices.IndexFunc(run.Warnings, func(w record.Warning) bool { return w.Check == check.Unlike })
		if (i >= 0) != row.unlike {
			t.Errorf("unlike is %v, and the warnings are %+v", row.unlike, run.Warnings)
		}
		if !row.unlike || i < 0 {
			continue
		}
		if text := run.Warnings[i].Text; !strings.Contains(text, devices["a"]) || !strings.Contains(text, devices["b"]) || !strings.Contains(unwrap(r.stdout), "stand on different ground") {
			t.Errorf("%q, want both devices, and printed:\n%s", text, r.stdout)
		}
	}
}
