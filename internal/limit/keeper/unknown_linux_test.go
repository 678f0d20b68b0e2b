package keeper

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/procfs"
)

// TestUnknown: a record of a container that can't be read is a fault in the state, also of the next keeper, until rules limit the container again or
// it ends.
func TestUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{}, oneRule)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	note := b.k.store.journal.Path((&entry{key: keyOf(targetOf(b.group))}).entryID())
	good, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	// unknown are the faults of that kind, as --status is told.
	unknown := func() (texts []string) {
		for _, c := range b.k.Status().Containers {
			for _, f := range c.Faults {
				if strings.HasPrefix(f.Text, "its earlier limits can't be read: "+note) && f.Rule == "" && c.Target == targetOf(b.group).Ref() {
					texts = append(texts, f.Text)
				}
			}
		}
		return texts
	}
	begin := func(policy string) {
		t.Helper()
		b.write(b.text(policy))
		b.begin()
		b.k.Started(targetOf(b.group))
	}
	for text, why := range map[string]string{
		string(good[:len(good)/2]): "unexpected end", "": "unexpected end", "null": "not an entry of that name", `{"x":1}`: "not an entry of that name", "[]": "cannot unmarshal",
		strings.Replace(string(good), `"held":`, `"hold":`, 1):                       "not a record of limits",
		strings.Replace(string(good), `"process":{"pid":0`, `"process":{"pid":7`, 1): "a record of process 7",
		strings.Replace(string(good), `"key":"write_bps"`, `"key":"\u001b[2J"`, 1):   `"\x1b[2J" is not the key of a limit`,
		string(good) + string(good):                                                  "after top-level value",
	} {
		b.stop()
		if err := os.WriteFile(note, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, policy := range []string{"rules: []\n", "rules:\n- {name: none, match: all, where: {device: /dev/plimsoll-none}, limits: {write_bps: 1MiB}}\n"} {
			begin(policy)
			eventually(t, "the state has a fault", func() bool { f := unknown(); return len(f) == 1 && strings.Contains(f[0], why) })
			b.stop()
		}
		// Rules hold it anew, soon or later.
		begin("rules: []\n")
		eventually(t, "the state has a fault", func() bool { return len(unknown()) == 1 })
		b.load(oneRule)
		eventually(t, "the fault goes", func() bool {
			s := b.k.Status()
			return len(unknown()) == 0 && len(s.Containers) == 1 && len(s.Containers[0].Held) == 1
		})
	}
	// Losing a record of another boot does no harm.
	b.stop()
	boot := b.k.store.boot
	if err := os.WriteFile(note, []byte(strings.Replace(string(good), `"process":{"pid":0,"boot":"`+boot, `"process":{"pid":0,"boot":"another`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	begin("rules: []\n")
	eventually(t, "it is met", func() bool { return b.k.Status().Others == 1 })
	if f := unknown(); len(f) > 0 {
		t.Errorf("of another boot: %q", f)
	}
}

// TestUnknownEnds: the fault goes with the container.
func TestUnknownEnds(t *testing.T) {
	b := newBench(t, Options{}, "rules: []\n")
	p, end := sleeper(t)
	if err := b.group.Add(p.PID); err != nil {
		t.Fatal(err)
	}
	c := targetOf(b.group)
	c.PID, c.StartTime = p.PID, p.Start // Without its start it would count as ended.
	key := keyOf(c)
	path := b.k.store.journal.Path((&entry{key: key}).entryID())
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("null"), 0o600)); err != nil {
		t.Fatal(err)
	}
	b.k.Started(c)
	eventually(t, "the state has a fault", func() bool {
		s := b.k.Status().Containers
		return len(s) == 1 && slices.ContainsFunc(s[0].Faults, func(f Fault) bool { return strings.HasPrefix(f.Text, "its earlier limits can't be read") })
	})
	end()
	b.k.Sync(t.Context())
	eventually(t, "it is forgotten", func() bool {
		return len(b.k.Status().Containers)+len(notes(t, b.opt.Run, containerKind)) == 0
	})
}

// TestUnknownUnlisted: an unreadable record of a living container that no engine lists stays, and the state and the log name it.
func TestUnknownUnlisted(t *testing.T) {
	b := newBench(t, Options{}, "rules: []\n")
	p, end := sleeper(t)
	key := keyOf(target.Target{Kind: target.Container, PID: p.PID, StartTime: p.Start})
	if err := b.k.store.journal.Keep(t.Context(), containerKind, key, "damaged"); err != nil {
		t.Fatal(err)
	}
	path := b.k.store.journal.Path(containerKind, key)
	age(t, path)
	b.k.Sync(t.Context())
	if _, err := os.Stat(path); err != nil || !strings.Contains(b.k.Status().Unlisted, path) || !b.said(path) {
		t.Errorf("after a sync: %v; the state says %q", err, b.k.Status().Unlisted)
	}
	end()
	b.k.Sync(t.Context())
	if left := notes(t, b.opt.Run, containerKind); len(left) != 0 || b.k.Status().Unlisted != "" {
		t.Errorf("after the container: %q; the state says %q", left, b.k.Status().Unlisted)
	}
}

// sleeper starts a process that lives until end is called, or the test ends.
func sleeper(t *testing.T) (p procfs.Process, end func()) {
	t.Helper()
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() { _ = child.Process.Kill(); _ = child.Wait() }
	t.Cleanup(end)
	return procfs.Of("/proc", child.Process.Pid), end
}

// TestUnknownBefore: where a record can't be read, a limit that equals the policy's counts as an earlier daemon's: its value
// before is unknown, which the log and the state say, and no rule means no limit. It was taken for the value before, and
// restored. Another value is another program's, and comes back.
func TestUnknownBefore(t *testing.T) {
	for name, row := range map[string]struct{ present, was, after string }{
		"the policy's": {"1048576", "unknown", ""},
		"another":      {"777", "777", "777"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Options{ClearOnStop: true}, "rules: []\n")
			b.stop()
			note := b.k.store.journal.Path((&entry{key: keyOf(targetOf(b.group))}).entryID())
			if err := errors.Join(os.MkdirAll(filepath.Dir(note), 0o700), os.WriteFile(note, []byte("{"), 0o600), b.group.Put("blkio.throttle.write_bps_device", b.number+" "+row.present)); err != nil {
				t.Fatal(err)
			}
			b.begin()
			b.k.Started(targetOf(b.group))
			eventually(t, "the record is found damaged", func() bool { return b.said("its earlier limits can't be read") })
			b.load(oneRule)
			b.has("1048576")
			eventually(t, "the state has the value before", func() bool {
				c := b.k.Status().Containers
				return len(c) == 1 && len(c[0].Held) == 1 && c[0].Held[0].Was == row.was
			})
			if said := b.said("the value of write_bps before is unknown"); said != (row.was == "unknown") {
				t.Errorf("it says so: %v", said)
			}
			b.stop()
			b.has(row.after)
		})
	}
}
