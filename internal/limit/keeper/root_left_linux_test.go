package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/internal/text/refusal"
)

// A rootLab is the files of a machine, on which keepers follow one another.
type rootLab struct {
	dir string
	// log are the lines of all keepers.
	log []string
}

// newRootLab makes the files of newRoot.
func newRootLab(t *testing.T) *rootLab {
	t.Helper()
	l := &rootLab{dir: t.TempDir()}
	if err := errors.Join(os.Symlink(treetest.Make(t, rootFiles), filepath.Join(l.dir, "machine")), os.WriteFile(filepath.Join(l.dir, "policy.yaml"), []byte("rules: []\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return l
}

// keeper starts a keeper on the files in dir.
func (l *rootLab) keeper(t *testing.T, dir string) *Keeper {
	t.Helper()
	k, err := newRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	k.opt.Log = func(line string) { l.log = append(l.log, line) }
	return k
}

// has returns the root group's limit of writes, by device.
func (l *rootLab) has(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(l.dir, "machine/cg", rootWrites))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestRootChangedBetweenKeepers: a limit that another program set while no keeper ran stays, as the log says. The next
// keeper set its predecessor's limit again, as long as it did not know all containers.
func TestRootChangedBetweenKeepers(t *testing.T) {
	l := newRootLab(t)
	k := l.keeper(t, l.dir)
	if err := errors.Join(rootRates(k, map[limit.Key]int64{limit.WriteBPS: 1 << 20}), k.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "machine/cg", rootWrites), []byte("254:0 7340032\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k = l.keeper(t, l.dir)
	k.complete.Store(false)
	k.applyRoot()
	if got := l.has(t); got != "254:0 7340032" {
		t.Errorf("the root group has %q, want the other program's 254:0 7340032; the log: %q", got, l.log)
	}
	if len(k.root.held) > 0 {
		t.Errorf("the keeper still holds %v", k.root.slots())
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// TestDroppedDuringApply: the end of a container, noticed while the policy is applied to it, leaves no grants in the
// root group or in a shared one. They stayed for as long as the keeper ran.
func TestDroppedDuringApply(t *testing.T) {
	l := newRootLab(t)
	k := l.keeper(t, l.dir)
	e := &entry{key: "1:1", held: map[Slot]*Limit{}}
	k.mu.Lock()
	k.entries[e.key] = e
	k.drop(e)
	k.mu.Unlock()
	grants := []Grant{{Slot: Slot{Key: limit.WriteBPS, DeviceWide: true}}}
	k.setDeviceWide(e, grants)
	k.setShares(e, grants)
	k.mu.Lock()
	if len(k.deviceWide)+len(k.shares) > 0 {
		t.Errorf("a container that has ended has the grants %v %v", k.deviceWide, k.shares)
	}
	k.mu.Unlock()
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// TestClearOnStopEarly: a keeper that ends before it has applied any rule removes its predecessor's limit in the root group,
// and restores the value before. It left the limit, and said that it was removed.
func TestClearOnStopEarly(t *testing.T) {
	l := newRootLab(t)
	k := l.keeper(t, l.dir)
	if err := errors.Join(rootRates(k, map[limit.Key]int64{limit.WriteBPS: 1 << 20}), k.Close()); err != nil {
		t.Fatal(err)
	}
	k = l.keeper(t, l.dir)
	k.opt.ClearOnStop = true
	if err := errors.Join(k.stop(), k.Close()); err != nil {
		t.Fatal(err)
	}
	if got := l.has(t); got != "254:0 5242880" {
		t.Errorf("the root group has %q, want the value before, 254:0 5242880", got)
	}
	if all, err := k.opt.DeviceLimits.List(); err != nil || len(all) > 0 {
		t.Errorf("the records %v, %v are left", all, err)
	}
}

// TestRefusedInRoot: a device-wide limit that was refused, because another daemon limits the device, does not count as one
// that holds writes.
func TestRefusedInRoot(t *testing.T) {
	l := newRootLab(t)
	first := l.keeper(t, l.dir)
	if err := rootRates(first, map[limit.Key]int64{limit.WriteBPS: 8 << 20}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(l.dir, "second")
	for _, err := range []error{
		os.Mkdir(dir, 0o700), os.Symlink("../machine", filepath.Join(dir, "machine")), os.Symlink("../shared", filepath.Join(dir, "shared")),
		os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("rules: []\n"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	second := l.keeper(t, dir)
	if err := rootRates(second, map[limit.Key]int64{limit.WriteBPS: 1 << 20}); !errors.Is(err, refusal.ErrRefused) {
		t.Errorf("the second daemon's limit = %v, want a refusal", err)
	}
	if got := second.inRoot()[device.Number{Major: 254}].WriteBPS; got != 8<<20 {
		t.Errorf("the second daemon counts on a limit of %v in the root group, want the first daemon's 8 MiB", got)
	}
	if err := errors.Join(second.Close(), rootRates(first, nil), first.Close()); err != nil {
		t.Error(err)
	}
}

// TestRootTakenWhileCorrected: a user's limit that replaces the keeper's stays, although the keeper was about to correct its own.
// The keeper compared, and wrote later without a look at the records.
func TestRootTakenWhileCorrected(t *testing.T) {
	l := newRootLab(t)
	k := l.keeper(t, l.dir)
	if err := rootRates(k, map[limit.Key]int64{limit.WriteBPS: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	const users = "254:0 7340032"
	changing, changed := make(chan struct{}), make(chan error)
	// It changes the kernel's value and the record with the records locked, as limit clear and limit set do.
	go func() {
		changed <- k.opt.DeviceLimits.AsDaemon(t.Context(), t.TempDir(), func(r *hold.DaemonRecords) error {
			if err := os.WriteFile(filepath.Join(l.dir, "machine/cg", rootWrites), []byte(users+"\n"), 0o600); err != nil {
				return err
			}
			close(changing)
			time.Sleep(200 * time.Millisecond) // The keeper looks meanwhile.
			entry, err := filepath.Glob(filepath.Join(l.dir, "*", "journal", "device-limit", "*"))
			if err != nil || len(entry) != 1 {
				return errors.Join(fmt.Errorf("there are the records %q, want one", entry), err)
			}
			if err := os.Remove(entry[0]); err != nil {
				return err
			}
			return r.Record([]hold.DeviceLimit{{
				Device: device.Number{Major: 254}, Disk: "vda", Limits: limit.Limits{WriteBPS: 7 << 20},
				Rules: []hold.RuleLimit{{Key: limit.WriteBPS, Rule: "users", Since: time.Now()}},
			}})
		})
	}()
	<-changing
	k.root.mu.Lock()
	_, _, err := k.correct(k.root)
	k.root.unlock()
	if err := errors.Join(err, <-changed); err != nil {
		t.Fatal(err)
	}
	if got := l.has(t); got != users {
		t.Errorf("the root group has %q, want the user's %q; the log: %q", got, users, l.log)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// TestClearOnStopUnlisted: a keeper that ends before it has found the groups of a predecessor's shared budgets ends with an
// error, which says that their limits stay, as it does for a record that can't be read. It said that all limits were
// removed, and later ended without an error. Records of what has ended are none.
func TestClearOnStopUnlisted(t *testing.T) {
	dir := t.TempDir()
	_, root := v2Holder(t, "/shop/web")
	if err := errors.Join(os.Symlink(root, filepath.Join(dir, "machine")), os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("rules: []\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	first, err := newLived(dir)
	if err != nil {
		t.Fatal(err)
	}
	first.mu.Lock()
	first.addBudget("/shop")
	first.mu.Unlock()
	s := Slot{Key: limit.Memory, Together: true}
	first.applyBudget(first.budgets["/shop"], map[Slot]Grant{s: {Slot: s, Value: "64MiB", Rule: "one", limits: limit.Limits{Memory: 64 << 20}}})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "cg/shop/memory.max")
	if b, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(b)) != "67108864" {
		t.Fatalf("the shared group has %q, %v: want 67108864", b, err)
	}
	next, err := newLived(dir)
	if err != nil {
		t.Fatal(err)
	}
	ended := procfs.Process{PID: 1 << 30, Start: 7, Boot: next.store.boot}
	torn := next.store.journal.Path(containerKind, "whose")
	for _, err := range []error{
		next.store.journal.Keep(t.Context(), groupKind, "budget /gone", record{Process: procfs.Process{Boot: next.store.boot}, Group: "/gone", Held: []recordedLimit{{}}}),
		next.store.journal.Keep(t.Context(), containerKind, keyOf(target.Target{PID: ended.PID, StartTime: ended.Start}), record{Process: ended, Held: []recordedLimit{{}}}),
		os.WriteFile(next.store.journal.Path(containerKind, "1073741824:9"), []byte("{"), 0o600),
		os.WriteFile(torn, []byte("{"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var log []string
	next.opt.Log, next.opt.ClearOnStop = func(line string) { log = append(log, line) }, true
	err = next.stop()
	if err == nil {
		t.Fatal("stop() went well, and the limits of one group stay")
	}
	for _, want := range []string{"limits of 1 group stay", torn} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("stop() = %v, want %q in it", err, want)
		}
	}
	if strings.Contains(err.Error(), "1073741824") {
		t.Errorf("stop() = %v, which names an earlier value of a record that can't be read", err)
	}
	if strings.Contains(strings.Join(log, "\n"), "removed") {
		t.Errorf("it says %q; the group still has its limit", log)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	// Once it has found the group, nothing is left.
	if next, err = newLived(dir); err != nil {
		t.Fatal(err)
	}
	next.opt.ClearOnStop = true
	next.oldBudgets()
	if err := errors.Join(os.Remove(torn), next.stop(), next.Close()); err != nil {
		t.Error(err)
	}
}
