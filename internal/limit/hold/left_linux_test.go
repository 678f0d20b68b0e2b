package hold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/treetest"
)

// newStuck is the machine of killedFiles. While allowed is not negative, its root group takes that many writes, and then none.
func newStuck(t *testing.T) (k *killed, allowed *int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(treetest.Make(t, killedFiles), filepath.Join(dir, "machine")); err != nil {
		t.Fatal(err)
	}
	k, err := newKilled(dir)
	if err != nil {
		t.Fatal(err)
	}
	allowed = new(int)
	*allowed = -1
	k.Groups = k.Groups.Through(func(path, text string, next func(string, string) error) error {
		if filepath.Base(filepath.Dir(path)) == "cg" && *allowed >= 0 {
			if *allowed == 0 {
				return syscall.EIO
			}
			*allowed--
		}
		return next(path, text)
	})
	return k, allowed
}

// stillRecorded fails unless the root group has one limit yet, and a record of it.
func (k *killed) stillRecorded(t *testing.T, at string) {
	t.Helper()
	_, now, err := k.DeviceLimits(k.state).now()
	if n := k.scope.Devices()[0].Number; err != nil || len(now[n].Keys()) != 1 {
		t.Errorf("%s: the root group has %v, %v, want the limit that was not restored", at, now, err)
	}
	k.recorded(t, at)
}

// TestRecordedUntilRestored: what a failed change could not restore in the root group stays recorded, so that it can be removed later.
func TestRecordedUntilRestored(t *testing.T) {
	two := limit.Limits{ReadBPS: 3 << 20, WriteBPS: 2 << 20}
	t.Run("of a run", func(t *testing.T) {
		k, allowed := newStuck(t)
		*allowed = 1
		w := k.DeviceLimits(k.state)
		n, err := w.Hold(t.Context(), "a run", k.scope.Devices()[0], two)
		if !cgroup.NotRestored(err) || !errors.Is(err, syscall.EIO) {
			t.Fatalf("Hold() = %v", err)
		}
		k.stillRecorded(t, "after the run")
		*allowed = -1
		if err := w.Release(t.Context(), n); err != nil {
			t.Error(err)
		}
		k.untouched(t, "its release")
	})
	t.Run("of requests", func(t *testing.T) {
		k, allowed := newStuck(t)
		r := Request{Scope: ScopeIn(k.scope.GroupSets[0].Groups, "/srv", k.scope.Places[0].Explanation), Limits: two}
		r.Limits.DeviceWide = true
		for _, writes := range []int{1, 2} { // A limit fails, or none does until the release.
			*allowed = writes
			x, err := k.Hold(t.Context(), k.state, "a run", []Request{r})
			if x == nil || cgroup.NotRestored(err) != (writes == 1) {
				t.Fatalf("Hold() = %v, %v", x, err)
			}
			if err := x.Release(); !errors.Is(err, syscall.EIO) {
				t.Errorf("Release() where nothing can be written = %v", err)
			}
			k.recorded(t, "before the second release")
			*allowed = -1
			if err := x.Release(); err != nil {
				t.Error(err)
			}
			k.untouched(t, "the second release")
		}
	})
	t.Run("of a target", func(t *testing.T) {
		k, allowed := newStuck(t)
		*allowed = 1
		if err := k.set(t.Context(), two); err == nil || !strings.Contains(err.Error(), "NOT restored") {
			t.Fatalf("set: %v", err)
		}
		k.stillRecorded(t, "after limit set")
		*allowed = -1
		if err := k.clear(t.Context()); err != nil {
			t.Error(err)
		}
		k.untouched(t, "limit clear")
	})
}

// TestNotedWeight: a weight on a disk below the device that was named is recorded as set. It wasn't, and limit show took it for another program's.
func TestNotedWeight(t *testing.T) {
	k, _ := newStuck(t)
	k.scope.Places[0].Explanation.Hard = []explain.Spot{{Name: "loop7", Number: device.Number{Major: 7, Minor: 7}}}
	if err := k.set(t.Context(), limit.Limits{Weight: 200}); err != nil {
		t.Fatal(err)
	}
	vda := k.scope.Weights()[0].Number
	list, err := k.Settings(k.state).List()
	if err != nil || len(list) != 1 || !list[0].Is("/shop", &vda, limit.Weight, "200") {
		t.Errorf("List() = %+v, %v, want the weight on %s", list, err, vda)
	}
	if err := k.clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.untouched(t, "clear")
}

// TestFullDisk: a change whose record can't be written changes nothing, and its error is one line. It was printed twice.
func TestFullDisk(t *testing.T) {
	k, _ := newStuck(t)
	full := disktest.Tmpfs(t, "size=64k")
	if err := os.Symlink(full, k.state); err != nil {
		t.Fatal(err)
	}
	if err := k.set(t.Context(), limit.Limits{WriteBPS: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(full, "room"), make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a folder that is to be full: %v", err)
	}
	if err := k.set(t.Context(), limit.Limits{WriteBPS: 2 << 20}); !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
		t.Errorf("set: %v, want one line that says that the disk is full", err)
	}
	k.stillRecorded(t, "a full disk")
	if err := errors.Join(os.Remove(filepath.Join(full, "room")), k.clear(t.Context())); err != nil {
		t.Error(err)
	}
	k.untouched(t, "clear")
}
