package change

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/treetest"
	"plimsoll/internal/text/usage"
)

// tree is a Maker of a machine with a limited group, and some more files.
func tree(t *testing.T, more map[string]string) (m *Maker, root string) {
	t.Helper()
	files := map[string]string{
		"proc/self/mountinfo":                     "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup cgroup rw,blkio\n",
		"proc/sys/kernel/random/boot_id":          "boot\n",
		"sys/dev/block/254:0":                     "-> sys/devices/vda",
		"sys/devices/vda/dev":                     "254:0\n",
		"cg/cgroup.procs":                         "1\n",
		"cg/shop/cgroup.procs":                    "",
		"cg/shop/blkio.throttle.write_bps_device": "254:0 1048576\n",
	}
	for name, text := range more {
		files[name] = text
	}
	root = treetest.Make(t, files)
	machine := device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	h, err := hold.New(machine, target.New(target.Options{Proc: machine.Proc}))
	if err != nil {
		t.Fatal(err)
	}
	// The kernel removes the line of a limit that is written as 0.
	h.Groups = h.Groups.Through(func(path, text string, next func(string, string) error) error {
		if strings.HasSuffix(text, " 0") {
			return os.WriteFile(path, nil, 0o600)
		}
		return next(path, text)
	})
	return &Maker{Holder: h, Machine: filepath.Join(root, "state"), Run: filepath.Join(root, "run"), Daemon: func() (*keeper.Status, error) { return nil, fs.ErrNotExist }}, root
}

// TestClearDamagedWeights: a damaged record of a disk that is divided by weight is a note of a clear, whose result is printed. Only the error was.
func TestClearDamagedWeights(t *testing.T) {
	m, root := tree(t, map[string]string{"state/journal/disk-weights/7:98.json": "{"})
	r, err := m.Clear(t.Context(), target.Ref{Kind: target.Cgroup, Name: "/shop"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := r.Text(); !strings.Contains(text, ": cleared") || !strings.Contains(text, "note: it is not known whether limit set made 7:98 divide by weight") {
		t.Errorf("printed:\n%s", text)
	}
	if b, err := os.ReadFile(filepath.Join(root, "cg/shop/blkio.throttle.write_bps_device")); err != nil || strings.Contains(string(b), "1048576") {
		t.Errorf("the group has %q, %v", b, err)
	}
}

// TestClearUnrecorded: a clear where nothing can be recorded doesn't say that it won't be known who set a limit. A set does.
func TestClearUnrecorded(t *testing.T) {
	m, _ := tree(t, map[string]string{"state": ""}) // It is no folder.
	const unknown = "limit show won't know who set it"
	s, err := m.Scope(t.Context(), target.Ref{Kind: target.Cgroup, Name: "/shop"}, hold.Where{}, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		c    limit.Change
		want bool
	}{{limit.Change{Set: limit.Limits{CPUs: 2}}, true}, {limit.Clear(), false}} {
		s.Notes = nil
		apply := m.noting(func(context.Context, *hold.Scope, limit.Change) ([]hold.Done, error) { return nil, nil })
		if _, err := apply(t.Context(), s, row.c); err != nil || strings.Contains(strings.Join(s.Notes, "\n"), unknown) != row.want {
			t.Errorf("%+v: %q, %v, want the note: %t", row.c, s.Notes, err, row.want)
		}
	}
}

// TestClearDamagedDevice: a damaged record of a device is an error of a clear without a target, beside its result. It was a note, and the clear said
// also that no limit is recorded.
func TestClearDamagedDevice(t *testing.T) {
	m, _ := tree(t, map[string]string{"state/journal/device-limit/254:0.json": "{"})
	r, err := m.ClearAllDeviceLimits(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text, unknown := r.Text(), r.Unknown(); text != "" || unknown == nil || !strings.Contains(unknown.Error(), "other limits in the root group are not known, and left: ") {
		t.Errorf("printed %q, and the error %v", text, unknown)
	}
	var misnamed *usage.Error
	if _, err := m.ClearAllDeviceLimits(t.Context(), Options{Where: hold.Where{Device: "/dev/plimsoll-no-such"}}); !errors.As(err, &misnamed) {
		t.Errorf("a clear of a device that does not exist: %v", err)
	}
}
