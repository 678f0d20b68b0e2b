package hold

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/internal/text/refusal"
)

// diskseq is the kernel's count of what is in the disk of killedFiles.
const diskseq = "sys/devices/vda/diskseq"

// withDiskseq is killedFiles with a disk whose number may become another's.
func withDiskseq(t *testing.T) (k *killed, becomes func(seq string)) {
	t.Helper()
	dir := t.TempDir()
	files := maps.Clone(killedFiles)
	files[diskseq] = "1\n"
	if err := os.Symlink(treetest.Make(t, files), filepath.Join(dir, "machine")); err != nil {
		t.Fatal(err)
	}
	k, err := newKilled(dir)
	if err != nil {
		t.Fatal(err)
	}
	return k, func(seq string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "machine", diskseq), []byte(seq+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFormerOfTheLiving: limits of a run that goes on stay when its disk's number becomes another's. Only the run may remove their record, so
// others are refused before they remove the limits. They were removed, and the record stayed.
func TestFormerOfTheLiving(t *testing.T) {
	k, becomes := withDiskseq(t)
	spot := k.scope.Places[0].Explanation.Hard[0]
	run := k.DeviceLimits(k.state)
	n, err := run.Hold(t.Context(), "a run", spot, limit.Limits{WriteBPS: 7 << 20})
	if err != nil {
		t.Fatal(err)
	}
	becomes("2")
	other := k.DeviceLimits(k.state)
	all, err := other.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("List() = %+v, %v, want one", all, err)
	}
	if !all[0].Former {
		t.Fatalf("%+v is not former", all[0])
	}
	if all[0].Ended {
		t.Fatalf("%+v has ended", all[0])
	}
	_, heldToo := other.Hold(t.Context(), "another run", spot, limit.Limits{WriteBPS: 3 << 20})
	for name, err := range map[string]error{
		"Hold":   heldToo,
		"Free":   other.Free(spot),
		"daemon": takes(t.Context(), other, k.state, spot, limit.Limits{WriteBPS: 3 << 20}),
		"set":    k.set(t.Context(), limit.Limits{WriteBPS: 3 << 20}),
		"clear":  k.clear(t.Context()),
	} {
		var taken *refusal.Error
		if !errors.As(err, &taken) || !strings.Contains(err.Error(), "which still runs, set it when another device had that number; once it has ended, plimsoll limit clear --device-wide --device /dev/vda removes it") {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	done, err := other.Clear(t.Context(), all, nil, false, nil)
	if err != nil || len(done) != 1 {
		t.Fatalf("Clear() = %+v, %v, want one", done, err)
	}
	if notes := done[0].Notes; len(notes) != 1 || !strings.Contains(notes[0], "stays: it is for a run; process ") {
		t.Errorf("Clear() notes %q, want that it stays", notes)
	}
	if has := k.has(t, "cg/blkio.throttle.write_bps_device"); has != "254:0 7340032" {
		t.Errorf("the root group has %q, want the run's limit", has)
	}
	becomes("1")
	if err := run.Release(t.Context(), n); err != nil {
		t.Error(err)
	}
	k.untouched(t, "its release")
}

// TestFormerAfterSweep: a limit of a killed run whose number belongs to another device stays recorded when a sweep can't
// remove it. A later run of the same process, and of others, gets the device, and removes the limit. The process was
// refused with itself as the owner, and others with it.
func TestFormerAfterSweep(t *testing.T) {
	k, becomes := withDiskseq(t)
	spot := k.scope.Places[0].Explanation.Hard[0]
	w := k.DeviceLimits(k.state)
	n, err := w.Hold(t.Context(), "a killed run", spot, limit.Limits{WriteBPS: 7 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.journal.Remove(deviceLimitKind, n.Device.String()); err != nil {
		t.Fatal(err)
	}
	journaltest.Dead(t, k.state, deviceLimitKind, n.Device.String(), n)
	becomes("2")
	for range 2 {
		if removed, err := SweepRuns(t.Context(), k.FS, k.state); err == nil || len(removed) > 0 || !strings.Contains(err.Error(), "when another device had that number") {
			t.Errorf("SweepRuns() = %q, %v, want that the root group still has the limit", removed, err)
		}
	}
	next := k.DeviceLimits(k.state)
	all, err := next.List()
	if err != nil || len(all) != 1 {
		t.Fatalf("List() = %+v, %v, want one limit", all, err)
	}
	if !all[0].Former || !all[0].Ended {
		t.Errorf("List() = %+v, want a limit of an ended process", all)
	}
	if err := next.Free(spot); err != nil {
		t.Errorf("Free() = %v", err)
	}
	n, err = next.Hold(t.Context(), "another run", spot, limit.Limits{ReadBPS: 3 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Release(t.Context(), n); err != nil {
		t.Error(err)
	}
	becomes("1")
	k.untouched(t, "its release")
}
