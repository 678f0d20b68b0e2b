package trial

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/limitverdict"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/witness"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/workertest"
)

// checks is a Judge that asks package check.
type checks struct{}

func (checks) Trial(t *record.Trial, run *record.Run) []record.Warning { return check.Trial(t, run) }
func (checks) Run(run *record.Run, trials []record.Trial) []record.Warning {
	return check.Run(run, trials)
}

// throttles fails the test where the machine can't throttle by version 1, which these tests are about.
func throttles(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs blkio of control groups of version 1")
	}
}

// limitedRun runs a plan on a disk of its own, with host and oci.
func limitedRun(t *testing.T, text string) *notebook {
	t.Helper()
	p, err := plan.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	n := &notebook{}
	r := &Runner{
		Plan: p, Recorder: n, Observer: n, Judge: checks{}, Witness: witness.New(device.Host()),
		Engines: map[string]engine.Engine{
			"host": host.New(state, workertest.Source(t)), "oci": oci.New(state, workertest.Source(t), exec.LookPath),
		},
	}
	for name := range r.Engines {
		if _, ok := p.Engine(name); !ok {
			delete(r.Engines, name)
		}
	}
	if err := r.Run(t.Context(), &record.Run{ID: "limits-" + strings.ToLower(t.Name())}); err != nil {
		t.Fatal(err)
	}
	for _, s := range n.run.Skipped {
		t.Errorf("skipped %s: %s", s.Cell.Engine, s.Reason)
	}
	left, _ := os.ReadDir(filepath.Join(state, "data"))
	if records := journaltest.Left(t, state); len(left)+len(records) > 0 {
		t.Errorf("left: %v %v", left, records)
	}
	return n
}

// warned returns the text of a warning of a check and severity, "" for none.
func warned(tr record.Trial, check, severity string) string {
	for _, w := range tr.Warnings {
		if w.Check == check && w.Severity == severity {
			return w.Text
		}
	}
	return ""
}

// TestLimitsOfCells: each rate is held where the data lies, in the container's group on oci and in one of its own on the
// host, and only while the trial is measured.
func TestLimitsOfCells(t *testing.T) {
	t.Parallel()
	throttles(t)
	loop, dir := disktest.Disk(t, disktest.Options{Size: 512 << 20, Direct: true, Memory: true})
	for attempt := 1; ; attempt++ {
		seen, unproved := limitsOfCells(t, loop, dir)
		if seen != 8 {
			t.Errorf("%d limited cells, want 8", seen)
		}
		// A machine that is busy with other tests may not reach a limit now and then.
		if unproved <= 2 || t.Failed() {
			return
		}
		if attempt == 4 {
			t.Fatalf("%d of 8 limited cells are unproved", unproved)
		}
	}
}

// limitsOfCells runs the plan, and returns how many of its limited cells were done, and of how many the limit was not reached.
func limitsOfCells(t *testing.T, loop, dir string) (limited, unproved int) {
	n := limitedRun(t, fmt.Sprintf(`
name: limited
workloads:
  write: {rw: write, bs: 64KiB, iodepth: 4, direct: true, size: 32MiB, runtime: 1500ms}
  randread: {rw: randread, bs: 4KiB, iodepth: 4, direct: true, size: 32MiB, runtime: 1500ms}
engines: [host, oci]
places: {dir: {path: %s}, bind: {path: %[1]s}}
limits:
  none: {}
  bytes: {read_bps: 6MiB, write_bps: 8MiB}
  ios: {read_iops: 300, write_iops: 200}
blocks: 1
`, dir))
	seen := map[string]bool{}
	for _, tr := range n.trials {
		if tr.Status != record.Done {
			t.Errorf("%s: %s", tr.Key, tr.Error)
			continue
		}
		if text := warned(tr, check.Foreign, record.Doubt); text != "" || len(tr.Where[0].Foreign) > 0 {
			t.Errorf("%s: its own limits are somebody else's: %s, %v", tr.Key, text, tr.Where[0].Foreign)
		}
		rows := limitverdict.Of(&tr)
		if tr.Cell.Limits == "none" {
			if len(rows) > 0 {
				t.Errorf("%s without limits has verdicts: %v", tr.Key, rows)
			}
			if held := tr.Where[0].Held; held != nil && len(held.Applied) > 0 {
				t.Errorf("%s without limits is held to %+v", tr.Key, held.Applied)
			}
			if tr.Value < 1000 {
				t.Errorf("%s without limits did %.0f", tr.Key, tr.Value)
			}
			continue
		}
		seen[tr.Key] = true
		if len(rows) != 1 || rows[0].Verdict == judge.NotHeld {
			t.Errorf("%s: %v", tr.Key, rows)
			continue
		}
		// In a window of 1.5 s the limiter's slices are too much to say more.
		if rows[0].Verdict == judge.Unproved && rows[0].Cause != judge.TooShort {
			t.Logf("%s: %v", tr.Key, rows)
			unproved++
			continue
		}
		if got := tr.Where[0].Held.Applied; len(got) != 2 {
			t.Errorf("%s: applied %v, want two limits", tr.Key, got)
		} else {
			if got[0].Number.String() != disktest.Number(t, loop) {
				t.Errorf("%s: applied to %s, want %s", tr.Key, got[0].Number, loop)
			}
			if got[0].By != limit.ByGroup || !strings.Contains(got[0].Group, "/plimsoll-") {
				t.Errorf("%s: applied by %v in %q, want the session's group", tr.Key, got[0].By, got[0].Group)
			}
		}
		if text := warned(tr, check.Limited, record.Note); !strings.Contains(text, "shows the limit") {
			t.Errorf("%s: no word that the limit was measured: %v", tr.Key, tr.Warnings)
		}
		if tr.Results[0].Prepared.Seconds() > 2 {
			t.Errorf("%s: the layout took %v: it was limited too", tr.Key, tr.Results[0].Prepared)
		}
	}
	return len(seen), unproved
}

// TestDeviceWide: with version 1 buffered writes escape the container's group, and a limit at the device holds them; nothing of
// it is left afterwards.
func TestDeviceWide(t *testing.T) {
	t.Parallel()
	throttles(t)
	loop, dir := disktest.Disk(t, disktest.Options{Size: 1 << 30, Direct: true})
	n := limitedRun(t, fmt.Sprintf(`
name: wide
workloads:
  buffered: {rw: write, bs: 64KiB, size: 32MiB}
engines: [oci]
places: {bind: {path: %s}}
limits:
  own: {write_bps: 8MiB}
  wide: {write_bps: 8MiB, device_wide: true}
clients: [1, 2]
blocks: 1
`, dir))
	for _, tr := range n.trials {
		if tr.Status != record.Done {
			t.Errorf("%s: %s", tr.Key, tr.Error)
			continue
		}
		rows := limitverdict.Of(&tr)
		if len(rows) != 1 || rows[0].At != judge.Device {
			t.Errorf("%s: %v", tr.Key, rows)
			continue
		}
		t.Logf("%s: %v, %.3g B/s", tr.Key, rows[0], tr.Value)
		doubt := warned(tr, check.Limit, record.Doubt)
		wide := tr.Cell.Limits == "wide"
		all := limit.Applied{Key: limit.WriteBPS, Value: float64(tr.Cell.Clients * 8 << 20), By: limit.ByDevice}
		if a := tr.Where[0].Held.Applied; wide != slices.ContainsFunc(a, func(a limit.Applied) bool { return a.Key == all.Key && a.Value == all.Value && a.By == all.By }) {
			t.Errorf("%s: applied: %v", tr.Key, a)
		}
		switch {
		case wide && (rows[0].Verdict == judge.NotHeld || doubt != ""):
			t.Errorf("%s: %v, %s", tr.Key, rows[0], doubt)
		case !wide && (rows[0].Verdict != judge.NotHeld || !strings.Contains(doubt, "limit NOT held: asked") || !strings.Contains(doubt, "root group")):
			t.Errorf("%s: %v, %s", tr.Key, rows[0], doubt)
		}
	}
	b, err := os.ReadFile("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
	if err != nil || strings.Contains(string(b), disktest.Number(t, loop)+" ") {
		t.Errorf("left in the root group: %s, %v", b, err)
	}
}
