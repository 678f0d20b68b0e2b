package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// TestCeilingUnread: if a measured rate can't be read for a while, the percentages of it stay as they are, also in the root group
// and after a restart, and the fault says so. The keeper removed these limits, as if nothing had been measured.
func TestCeilingUnread(t *testing.T) {
	state := t.TempDir()
	var fault atomic.Pointer[error]
	var carries atomic.Int64
	carries.Store(4 << 20)
	ceilings := func(string) (limit.Limits, error) {
		if err := fault.Load(); err != nil {
			return limit.Limits{}, *err
		}
		return limit.Limits{WriteBPS: carries.Load()}, nil
	}
	holder := finderOf(t, target.Options{Containerd: []target.ContainerdRoot{{State: state}}})
	b := newBench(t, Options{Holder: holder, DeviceLimits: holder.DeviceLimits(t.TempDir()), Ceilings: ceilings},
		"rules:\n- {name: one, match: all, where: {device: DISK, device_wide: true}, limits: {write_bps: 50%}}\n")
	t.Cleanup(func() {
		b.stop()
		rootPuts(t, b.number, 0)
	})
	b.task(state)
	tasks := filepath.Join(state, "io.containerd.runtime.v2.task")
	if err := os.Rename(filepath.Join(tasks, "moby"), filepath.Join(tasks, "default")); err != nil { // Of containerd alone.
		t.Fatal(err)
	}
	faults := func() (texts []string) {
		for _, c := range b.k.Status().Containers {
			texts = append(texts, faultTexts(c.Faults)...)
		}
		return texts
	}
	has := func(want string, faulty bool) {
		t.Helper()
		eventually(t, "the group and the root group have "+want, func() bool {
			return rate(base(b.group), b.number) == want && rate("", b.number) == want && (len(faults()) == 1) == faulty
		})
	}
	stays := func(when string) {
		t.Helper()
		b.k.Check()
		b.k.applyRoot()
		const want = "write_bps: read the measured ceiling of "
		f := faults()
		if len(f) != 1 || f[0] != want+filepath.Base(b.disk)+": database is locked; until it can be read, the rule's limits stay as they are" {
			t.Errorf("%s: faults %q", when, f)
		}
		if own, root := rate(base(b.group), b.number), rate("", b.number); own != "2097152" || root != "2097152" {
			t.Errorf("%s: the group has %q, the root group %q, want 2097152", when, own, root)
		}
	}
	b.k.Sync(t.Context())
	has("2097152", false)

	locked := errors.New("database is locked")
	fault.Store(&locked)
	b.k.Reload()
	eventually(t, "the fault is reported", func() bool { return len(faults()) == 1 })
	stays("after a reload")
	b.stop()
	b.begin()
	eventually(t, "the fault is reported by the next keeper", func() bool { return len(faults()) == 1 && b.k.listed.Load() })
	stays("after a restart")
	other := disktest.NewBlkioGroup(t)
	b.k.Started(targetOf(other))
	eventually(t, "a container without limits gets none", func() bool { return len(faults()) == 2 })
	if has := rate(base(other), b.number); has != "" {
		t.Errorf("without a ceiling a new container has %q", has)
	}
	fault.Store(nil)
	carries.Store(8 << 20)
	b.k.Reload()
	has("4194304", false)
	gone := limit.ErrNoCeiling
	fault.Store(&gone)
	b.k.Reload()
	eventually(t, "without a ceiling there is no limit", func() bool { return rate(base(b.group), b.number) == "" })
}
