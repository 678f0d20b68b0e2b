package hold

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/journaltest"
)

// takes is what a daemon of the folder run does before it sets rates of a device.
func takes(ctx context.Context, w *DeviceLimits, run string, d explain.Spot, rates limit.Limits) error {
	n := DeviceLimit{Device: d.Number, Disk: d.Name, Limits: rates}
	for _, k := range rates.Keys() {
		n.Rules = append(n.Rules, RuleLimit{Key: k, Rule: "one"})
	}
	return w.AsDaemon(ctx, run, func(w *DaemonRecords) error {
		if err := w.Vacate(d.Number); err != nil {
			return err
		}
		return w.Record([]DeviceLimit{n})
	})
}

// recordAs makes a list the records of the daemon of the folder run.
func recordAs(ctx context.Context, w *DeviceLimits, run string, list ...DeviceLimit) error {
	return w.AsDaemon(ctx, run, func(w *DaemonRecords) error { return w.Record(list) })
}

// TestDaemonBefore: what a killed daemon has left in the root group gives way to the values before it, by limit clear of any folder. What another program
// has set since stays, and so does the limit of another device's former owner.
func TestDaemonBefore(t *testing.T) {
	k, _ := newStuck(t)
	w := k.DeviceLimits(k.state)
	spot := k.scope.Devices()[0]
	put := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(filepath.Dir(k.state), "machine/cg", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const writes, reads, ops = "blkio.throttle.write_bps_device", "blkio.throttle.read_bps_device", "blkio.throttle.read_iops_device"
	if err := recordAs(t.Context(), w, "/run/x", DeviceLimit{Device: spot.Number, Disk: spot.Name, Limits: limit.Limits{WriteBPS: 2 << 20, ReadIOPS: 70}, Rules: []RuleLimit{
		{Key: limit.ReadBPS, Before: limit.Limits{ReadBPS: 5 << 20}}, // The rule says none.
		{Key: limit.WriteBPS, Before: limit.Limits{WriteBPS: 6 << 20}, Prior: &limit.Limits{WriteBPS: 1 << 20}},
		{Key: limit.ReadIOPS, Before: limit.Limits{ReadIOPS: 90}},
	}}); err != nil {
		t.Fatal(err)
	}
	put(writes, "254:0 1048576\n") // It was killed before it wrote 2 MiB.
	put(ops, "254:0 80\n")
	all, err := w.List()
	if err != nil || len(all) != 1 || len(all[0].Rules) != 3 {
		t.Fatalf("List() = %+v, %v", all, err)
	}
	done, err := w.Clear(t.Context(), all, nil, false, nil)
	if err != nil || len(done) != 1 {
		t.Fatalf("Clear() = %+v, %v, want one", done, err)
	}
	if notes := done[0].Notes; len(notes) != 1 || !strings.Contains(notes[0], "another program set it, so it stays") {
		t.Errorf("Clear() notes %q", notes)
	}
	if done[0].Restored != (limit.Limits{ReadBPS: 5 << 20, WriteBPS: 6 << 20}) {
		t.Errorf("Clear() restored %s", done[0].Restored)
	}
	for file, want := range map[string]string{writes: "254:0 6291456", reads: "254:0 5242880", ops: "254:0 80"} {
		if has := k.has(t, "cg/"+file); has != want {
			t.Errorf("%s has %q, want %q", file, has, want)
		}
		put(file, "")
	}
	k.untouched(t, "clear")
}

// TestDaemonRecords: a daemon's records are those of its last list, and the other daemon's stay.
func TestDaemonRecords(t *testing.T) {
	k, becomes := withDiskseq(t)
	w := k.DeviceLimits(k.state)
	spot := k.scope.Devices()[0]
	entries := func(want int) {
		t.Helper()
		if has := journaltest.Entries(t, k.state); len(has) != want {
			t.Errorf("recorded are %q, want %d", has, want)
		}
	}
	if err := takes(t.Context(), w, "/run/x", spot, limit.Limits{WriteBPS: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := recordAs(t.Context(), w, "/run/y"); err != nil {
		t.Fatal(err)
	}
	entries(1)
	// Another device has the number now, which has none of the limits.
	becomes("2")
	if err := takes(t.Context(), w, "/run/y", spot, limit.Limits{WriteBPS: 1 << 20}); err != nil {
		t.Errorf("on another device: %v", err)
	}
	entries(1)
	if all, err := w.List(); err != nil || len(all) != 1 || !all[0].OfDaemon("/run/y") {
		t.Errorf("List() = %+v, %v", all, err)
	}
	if err := recordAs(t.Context(), w, "/run/y"); err != nil {
		t.Fatal(err)
	}
	entries(0)
	// A record without the rules is none of a daemon.
	if err := w.journal.Keep(t.Context(), deviceLimitKind, "254:0", DeviceLimit{Daemon: "/run/x", Device: spot.Number, Limits: limit.Limits{WriteBPS: 1}, Boot: w.boot}); err != nil {
		t.Fatal(err)
	}
	if err := takes(t.Context(), w, "/run/x", spot, limit.Limits{WriteBPS: 1 << 20}); !errors.As(err, new(*journal.DamagedError)) {
		t.Errorf("on it: %v, want that the record is damaged", err)
	}
}
