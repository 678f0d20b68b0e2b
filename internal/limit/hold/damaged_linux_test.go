package hold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/journaltest"
)

// cut writes a damaged record of a kind into the machine's journal, and returns its file.
func (k *killed) cut(t *testing.T, kind, id string) string {
	t.Helper()
	path := journal.In(k.state).Path(kind, id)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(`{"kind":`), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDamagedOfAnother: a damaged record of a device blocks no other device. It blocked them all.
func TestDamagedOfAnother(t *testing.T) {
	k, _ := newStuck(t)
	path := k.cut(t, deviceLimitKind, "7:98")
	w := k.DeviceLimits(k.state)
	spot := k.scope.Devices()[0]
	n, err := w.Hold(t.Context(), "a run", spot, limit.Limits{WriteBPS: 7 << 20})
	if err := errors.Join(err, w.Release(t.Context(), n), w.Free(spot), takes(t.Context(), w, k.state, spot, limit.Limits{WriteBPS: 7 << 20}),
		recordAs(t.Context(), w, k.state)); err != nil {
		t.Errorf("a run and a daemon: %v", err)
	}
	if err := k.set(t.Context(), limit.Limits{WriteBPS: 1 << 20}); err != nil {
		t.Errorf("set: %v", err)
	}
	all, err := w.List()
	if len(all) != 1 || !errors.As(err, new(*journal.DamagedError)) {
		t.Errorf("List() = %+v, %v, want the other record, and the damaged one's error", all, err)
	}
	if err := k.clear(t.Context()); err != nil {
		t.Errorf("clear: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Errorf("the damaged record: %v", err)
	}
	k.untouched(t, "clear")
}

// TestDamagedOwn: while a device's record is damaged, a limit on the device is refused, and a clear of the root group on the device discards the record once
// no limit is left. The clear failed, although the error advised it.
func TestDamagedOwn(t *testing.T) {
	k, _ := newStuck(t)
	if err := k.set(t.Context(), limit.Limits{WriteBPS: 1 << 20, ReadBPS: 3 << 20}); err != nil {
		t.Fatal(err)
	}
	path := k.cut(t, deviceLimitKind, "254:0")
	w := k.DeviceLimits(k.state)
	spot := k.scope.Devices()[0]
	_, held := w.Hold(t.Context(), "a run", spot, limit.Limits{WriteBPS: 7 << 20})
	for name, err := range map[string]error{
		"set": k.set(t.Context(), limit.Limits{WriteBPS: 2 << 20}), "Hold": held, "Free": w.Free(spot),
		"a daemon": takes(t.Context(), w, k.state, spot, limit.Limits{WriteBPS: 7 << 20}),
	} {
		if !errors.As(err, new(*journal.DamagedError)) || strings.Count(err.Error(), path) != 1 || !strings.Contains(err.Error(), "--device DISK --device-wide removes them") {
			t.Errorf("%s: %v, want the damaged record, and the command that helps", name, err)
		}
	}
	if has := k.has(t, "cg/blkio.throttle.write_bps_device"); has != "254:0 1048576" {
		t.Errorf("the root group has %q after refusals", has)
	}
	for _, x := range []struct {
		c    limit.Change
		dry  bool
		said string
	}{
		{limit.Clear(limit.WriteBPS), false, "can't be read and stays, because the root group still has read_bps=3MiB on vda"},
		{limit.Clear(), true, "can't be read, and would be discarded"},
		{limit.Clear(), false, "could not be read, and was discarded"},
	} {
		done, err := w.Change(t.Context(), k.scope, x.c, x.dry, func() ([]Done, error) {
			if x.dry {
				return k.Plan(t.Context(), k.scope, x.c)
			}
			return k.Apply(t.Context(), k.scope, x.c)
		})
		var notes []string
		for _, d := range done {
			notes = append(notes, d.Notes...)
		}
		if err != nil || len(notes) != 1 {
			t.Errorf("clear: %q, %v, want one note", notes, err)
		} else if n := notes[0]; !strings.HasSuffix(n, x.said) || !strings.Contains(n, path) {
			t.Errorf("clear: %q, want %q of %s", n, x.said, path)
		}
	}
	if left := journaltest.Entries(t, k.state); len(left) != 1 { // Of limit set's, which Change doesn't remove.
		t.Errorf("recorded are %q", left)
	}
	if err := k.clear(t.Context()); err != nil {
		t.Error(err)
	}
	k.untouched(t, "clear")
}

// TestDamagedPayload: a whole entry that is no record of its device's limits is damaged. It counted as a limit that had ended, and so its device was free
// for another owner.
func TestDamagedPayload(t *testing.T) {
	k, _ := newStuck(t)
	w := k.DeviceLimits(k.state)
	whole := DeviceLimit{For: "a run", Device: device.Number{Major: 254}, Disk: "vda", Limits: limit.Limits{WriteBPS: 7 << 20}, Boot: w.boot}
	other, nobody, never, nothing := whole, whole, whole, whole
	other.Device.Minor, nobody.For, never.Boot, nothing.Limits = 16, "", "", limit.Limits{}
	for name, payload := range map[string]any{"{}": struct{}{}, "null": nil, "another device": other, "no owner": nobody, "no boot": never, "no limits": nothing} {
		if err := w.journal.Keep(t.Context(), deviceLimitKind, "254:0", payload); err != nil {
			t.Fatal(err)
		}
		all, err := w.List()
		if len(all) > 0 || !errors.As(err, new(*journal.DamagedError)) {
			t.Errorf("%s: List() = %+v, %v, want that the record is damaged", name, all, err)
		}
		if err := k.set(t.Context(), limit.Limits{WriteBPS: 1 << 20}); !errors.As(err, new(*journal.DamagedError)) {
			t.Errorf("%s: set: %v, want that the record is damaged", name, err)
		}
	}
}

// TestDamagedFolder: a machine's folder that is no folder is not advised to be cleared.
func TestDamagedFolder(t *testing.T) {
	k, _ := newStuck(t)
	if err := os.WriteFile(k.state, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.set(t.Context(), limit.Limits{WriteBPS: 1 << 20}); err == nil || strings.Contains(err.Error(), "limit clear") {
		t.Errorf("set: %v, want an error without the advice for damaged records", err)
	}
}

// TestDamagedWeights: a damaged record of another disk's weights doesn't keep a disk from being divided by weight, nor from being restored, which
// reports it.
func TestDamagedWeights(t *testing.T) {
	k, _ := newStuck(t)
	path := k.cut(t, weightsKind, "7:98")
	if err := k.set(t.Context(), limit.Limits{Weight: 300}); err != nil {
		t.Fatalf("set: %v", err)
	}
	c := limit.Clear()
	if _, err := k.Apply(t.Context(), k.scope, c); err != nil {
		t.Fatal(err)
	}
	off, err := k.Weights(k.state).Undo(t.Context(), k.scope)
	damaged, other := journal.Damaged(err)
	if len(off) != 1 || other != nil {
		t.Errorf("Undo() = %+v, %v, want one disk", off, other)
	}
	if len(damaged) != 1 || damaged[0].Path != path {
		t.Errorf("Undo() has the damaged records %v, want %s", damaged, path)
	}
	if err := errors.Join(k.Settings(k.state).Note(t.Context(), k.scope, c), os.Remove(path)); err != nil {
		t.Error(err)
	}
	k.untouched(t, "clear")
}

// TestSweepOfTheGone: a sweep says of a limit that ended with its boot or its device that it only removes the record, and discards damaged records of
// devices that are gone, also those that belong to no process. It said that it removed limits, and no command discarded the records.
func TestSweepOfTheGone(t *testing.T) {
	k, _ := newStuck(t)
	one := DeviceLimit{For: "a run", Device: device.Number{Major: 254}, Disk: "vda", Limits: limit.Limits{WriteBPS: 7 << 20}, Boot: "another"}
	journaltest.Dead(t, k.state, deviceLimitKind, "254:0", one)
	one.Device, one.Boot = device.Number{Major: 7, Minor: 97}, "one"
	journaltest.Dead(t, k.state, deviceLimitKind, "7:97", one)
	torn := k.cut(t, deviceLimitKind, "7:98")
	journaltest.Dead(t, k.state, deviceLimitKind, "7:99", "no record")
	kept := journal.In(k.state)
	if err := kept.Keep(t.Context(), deviceLimitKind, "7:96", "no record"); err != nil {
		t.Fatal(err)
	}
	removed, err := SweepRuns(t.Context(), k.FS, k.state)
	want := []string{
		"the record of a limit of device 254:0: the limit ended with an earlier boot",
		"the record of a limit of device 7:97: the limit ended with the device",
		"the damaged record " + torn + ": the limit ended with the device",
		"the damaged record " + kept.Path(deviceLimitKind, "7:96") + ": the limit ended with the device",
		"the damaged record " + kept.Path(deviceLimitKind, "7:99") + ": the limit ended with the device",
	}
	if diff := cmp.Diff(want, removed); err != nil || diff != "" {
		t.Errorf("SweepRuns(): %v (-want +got):\n%s", err, diff)
	}
	there := k.cut(t, deviceLimitKind, "254:0")
	if removed, err := SweepRuns(t.Context(), k.FS, k.state); len(removed) > 0 || !errors.As(err, new(*journal.DamagedError)) || !strings.Contains(err.Error(), there) {
		t.Errorf("SweepRuns() with a damaged record of a disk that is there = %q, %v", removed, err)
	}
}
