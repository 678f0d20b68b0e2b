package hold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/refusal"
)

// holder is one of this machine that asks no engine.
func holder(t *testing.T) *Holder {
	t.Helper()
	f := target.New(target.Options{Proc: "/proc"})
	t.Cleanup(func() { f.Close() })
	h, err := New(device.Host(), f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ref names a group of the test's own.
func ref(t *testing.T, g disktest.Group) target.Ref {
	t.Helper()
	r, err := target.Parse("cgroup:" + string(g))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestApply: a plan writes nothing, a change is made once, and a scope without a device is refused
// before anything is written.
func TestApply(t *testing.T) {
	group := disktest.NewBlkioGroup(t)
	loop, dir := disktest.Disk(t, disktest.Options{})
	h := holder(t)
	file := filepath.Join(string(group), "blkio.throttle.write_bps_device")
	now := func() string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	change := limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}
	if _, err := h.Scope(t.Context(), ref(t, group), Where{}, true); err == nil || !strings.Contains(err.Error(), "--path or --device") {
		t.Errorf("a group without a device: %v", err)
	}
	for _, where := range []Where{{Path: dir}, {Device: loop}} {
		s, err := h.Scope(t.Context(), ref(t, group), where, true)
		if err != nil {
			t.Fatal(err)
		}
		if done, err := h.Plan(t.Context(), s, change); err != nil || len(done) != 1 || done[0].Diff.Empty() {
			t.Errorf("%+v: Plan() = %+v, %v, want one change", where, done, err)
		}
		if got := now(); got != "" {
			t.Errorf("%+v: after Plan() the kernel has %q", where, got)
		}
		want := disktest.Number(t, loop) + " 1048576"
		if done, err := h.Apply(t.Context(), s, change); err != nil || done[0].Writes != 1 || now() != want {
			t.Errorf("%+v: Apply() = %+v, %v; the kernel has %q, want %q", where, done, err, now(), want)
		}
		if done, err := h.Apply(t.Context(), s, change); err != nil || done[0].Writes != 0 {
			t.Errorf("%+v: Apply() again = %+v, %v", where, done, err)
		}
		if _, err := h.Apply(t.Context(), s, limit.Clear()); err != nil || now() != "" {
			t.Errorf("%+v: after Clear() the kernel has %q, %v", where, now(), err)
		}
	}
	var impossible *refusal.Error
	if _, err := h.Scope(t.Context(), ref(t, group), Where{Path: "/dev/shm"}, true); !errors.As(err, &impossible) || impossible.Fix == "" {
		t.Errorf("memory: %v, want that it can't be limited and what to do instead", err)
	}
}
