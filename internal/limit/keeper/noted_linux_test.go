package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// unwritable returns functions that make writes in a folder of records fail, for root too, and succeed again.
func unwritable(t *testing.T, dir string) (fails, works func()) {
	away := dir + ".away"
	fails = func() {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Rename(dir, away), os.WriteFile(dir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	works = func() {
		t.Helper()
		if err := errors.Join(os.Remove(dir), os.Rename(away, dir)); err != nil {
			t.Fatal(err)
		}
	}
	return fails, works
}

// TestNotNoted: a limit that can't be noted is not written, and isn't told as held either; what was held before goes on being.
func TestNotNoted(t *testing.T) {
	b := newBench(t, Options{}, oneRule)
	fails, works := unwritable(t, filepath.Join(b.opt.Run, "journal", containerKind))
	// told is what the state says of the group: its limit, and whether it has a fault.
	told := func() (value string, fault bool) {
		for _, c := range b.k.Status().Containers {
			for _, h := range c.Held {
				value += h.Value
			}
			fault = fault || len(c.Faults) > 0
		}
		return value, fault
	}
	expect := func(value, kernel string, fault bool) {
		t.Helper()
		eventually(t, "the state and the kernel say "+value, func() bool {
			v, f := told()
			return v == value && f == fault && rate(base(b.group), b.number) == kernel
		})
	}
	fails()
	b.k.Started(targetOf(b.group))
	eventually(t, "the fault is told", func() bool { _, fault := told(); return fault })
	expect("", "", true)
	works()
	b.k.Reload()
	expect("1MiB", "1048576", false)
	fails()
	b.write(b.text(strings.Replace(oneRule, "1MiB", "2MiB", 1)))
	b.k.Reload()
	eventually(t, "the fault is told", func() bool { _, fault := told(); return fault })
	expect("1MiB", "1048576", true)
	works()
	b.k.Reload()
	expect("2MiB", "2097152", false)
}

// TestReleaseNotRecorded: a limit that was removed stays removed if the record can't be written, and is not reported as changed by
// another program. The keeper set it again at its next check, without a record, and counted a drift.
func TestReleaseNotRecorded(t *testing.T) {
	for name, after := range map[string]string{"all": "rules: []\n", "one of two": oneRule} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Options{}, strings.Replace(oneRule, "1MiB", "1MiB, read_iops: 100", 1))
			b.k.Started(targetOf(b.group))
			state := func() ContainerStatus {
				for _, c := range b.k.Status().Containers {
					return c
				}
				return ContainerStatus{}
			}
			eventually(t, "both limits are set", func() bool { return len(state().Held) == 2 })
			held := 0
			if after == oneRule {
				held = 1
			}
			fails, works := unwritable(t, filepath.Join(b.opt.Run, "journal", containerKind))
			fails()
			b.write(b.text(after))
			b.k.Reload()
			eventually(t, "the record is a fault", func() bool { c := state(); return len(c.Faults) == 1 && len(c.Held) == held })
			b.k.Check()
			removed := func(when string) {
				t.Helper()
				if has := throttle(base(b.group), "read_iops", b.number); has != "" || b.k.Status().Drift != 0 || b.said("another program") {
					t.Errorf("%s: read_iops is %q, and the keeper found %d drifts", when, has, b.k.Status().Drift)
				}
			}
			removed("after a check")
			works()
			b.k.Reload()
			eventually(t, "the fault is gone", func() bool {
				return len(state().Faults) == 0 && len(notes(t, b.opt.Run, containerKind)) == held
			})
			removed("with a record")
		})
	}
}

// TestFullDisk: a full disk is one fault with one line in the log, however often the keeper tries again. Each try had a line, as its
// text named a temporary file.
func TestFullDisk(t *testing.T) {
	full := disktest.Tmpfs(t, "size=64k")
	b := newBench(t, Options{Run: full}, oneRule)
	room := filepath.Join(full, "room")
	if err := os.WriteFile(room, make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a folder that is to be full: %v", err)
	}
	b.k.Started(targetOf(b.group))
	eventually(t, "the fault is reported", func() bool { return b.said("record the limits: ") })
	for range 3 {
		e := b.k.all()[0]
		e.mu.Lock()
		b.k.apply(e)
		e.unlock()
	}
	b.mu.Lock()
	log := strings.Join(b.log, "\n")
	b.mu.Unlock()
	if n := strings.Count(log, "no space left on device"); n != 1 {
		t.Errorf("%d lines about one fault, want 1:\n%s", n, log)
	}
	if err := os.Remove(room); err != nil {
		t.Fatal(err)
	}
	b.k.Reload()
	b.has("1048576")
}

// TestReleaseNotRecordedRoot: the same for the root group, whose records are the machine's.
func TestReleaseNotRecordedRoot(t *testing.T) {
	holder := holderFor(t)
	machine := disktest.Tmpfs(t, "size=64k")
	wide := strings.Replace(oneRule, "DISK}", "DISK, device_wide: true}", 1)
	b := newBench(t, Options{Holder: holder, DeviceLimits: holder.DeviceLimits(machine)}, strings.Replace(wide, "1MiB", "1MiB, read_iops: 100", 1))
	t.Cleanup(func() {
		b.stop()
		rootClears(t, b.number)
	})
	b.k.Started(targetOf(b.group))
	root := func() ContainerStatus {
		if s := b.k.Status().RootGroup; s != nil {
			return *s
		}
		return ContainerStatus{}
	}
	eventually(t, "both limits are set", func() bool { return len(root().Held) == 2 })
	room := filepath.Join(machine, "room")
	if err := os.WriteFile(room, make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a folder that is to be full: %v", err)
	}
	b.write(b.text(wide))
	b.k.Reload()
	eventually(t, "the record is a fault", func() bool { return len(root().Faults) == 1 && len(root().Held) == 1 })
	b.k.Check()
	if has := throttle("", "read_iops", b.number); has != "" || b.k.Status().Drift != 0 {
		t.Errorf("read_iops is %q, and the keeper found %d drifts", has, b.k.Status().Drift)
	}
	if err := os.Remove(room); err != nil {
		t.Fatal(err)
	}
	b.k.applyRoot()
	if r := root(); len(r.Faults) != 0 || len(r.Held) != 1 || throttle("", "read_iops", b.number) != "" {
		t.Errorf("with room the root group has %+v", r)
	}
}
