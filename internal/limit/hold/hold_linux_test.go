package hold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/device"
	"plimsoll/internal/device/hierarchy"
	"plimsoll/internal/disktest"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/target"
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
		if done, err := h.Plan(t.Context(), s, change); err != nil || len(done) != 1 || done[0].Diff.Empty() || now() != "" {
			t.Errorf("%+v: Plan() = %+v, %v; the kernel has %q", where, done, err, now())
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
	var impossible *ImpossibleError
	if _, err := h.Scope(t.Context(), ref(t, group), Where{Path: "/dev/shm"}, true); !errors.As(err, &impossible) || impossible.Instead == "" {
		t.Errorf("memory: %v, want that it can't be limited and what to do instead", err)
	}
}

// TestUndo: a part that is refused undoes those before it.
func TestUndo(t *testing.T) {
	good, bad := disktest.NewBlkioGroup(t), disktest.NewBlkioGroup(t)
	loop, _ := disktest.Disk(t, disktest.Options{})
	h := holder(t)
	s, err := h.Scope(t.Context(), ref(t, good), Where{Device: loop}, true)
	if err != nil {
		t.Fatal(err)
	}
	other, err := h.Groups.At(string(bad))
	if err != nil {
		t.Fatal(err)
	}
	s.Parts = append(s.Parts, Part{Name: "the other", Groups: other})
	plan, err := h.Plan(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 1 << 20, ReadIOPS: 100}})
	if err != nil || len(plan) != 2 {
		t.Fatalf("Plan() = %+v, %v", plan, err)
	}
	// It goes when the first part is written.
	if err := os.Remove(string(bad)); err != nil {
		t.Fatal(err)
	}
	g, err := other.Group(hierarchy.IO)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan[0].Diff.Apply(); err != nil {
		t.Fatal(err)
	}
	_, err = plan[1].Diff.Apply()
	if err == nil {
		t.Fatalf("a group that is gone (%s) was written to", g.Path)
	}
	var fault *cgroup.Fault
	if err = plan[0].Diff.Undo(err); !errors.As(err, &fault) || !fault.Undone {
		t.Errorf("Undo() = %v, want that it was undone", err)
	}
	for _, file := range []string{"blkio.throttle.write_bps_device", "blkio.throttle.read_iops_device"} {
		if b, err := os.ReadFile(filepath.Join(string(good), file)); err != nil || strings.TrimSpace(string(b)) != "" {
			t.Errorf("%s still has %q, %v", file, b, err)
		}
	}
	if err := os.Mkdir(string(bad), 0o755); err != nil { // The end of the test removes it.
		t.Fatal(err)
	}
	if _, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}); err != nil {
		t.Errorf("Apply() with both = %v", err)
	}
}
