package keeper

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/container/target"
)

// TestStatusBusy: the state doesn't wait for a container that is being written.
func TestStatusBusy(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{}, oneRule)
	b.k.Started(targetOf(b.group))
	eventually(t, "it is held", func() bool { return len(b.k.Status().Containers) == 1 })
	e := b.k.all()[0]
	e.mu.Lock()
	defer e.mu.Unlock()
	told := make(chan Status, 1)
	go func() { told <- b.k.Status() }()
	select {
	case s := <-told:
		if len(s.Containers) != 1 || len(s.Containers[0].Held) != 1 {
			t.Errorf("the state: %+v", s)
		}
	case <-time.After(time.Minute):
		t.Error("no state within a minute")
	}
}

// TestFightBegins: the wait before the next correction also grows if the first counted correction comes shortly after one
// that wasn't counted.
func TestFightBegins(t *testing.T) {
	b := newBench(t, Options{}, oneRule)
	e := &entry{key: "x", target: targetOf(b.group), process: targetOf(b.group)}
	var waits []time.Duration
	for range 9 {
		e.mu.Lock()
		b.k.drifted(e, time.Now())
		waits = append(waits, e.backoff)
		e.mu.Unlock()
	}
	if waits[0] != firstBackoff || waits[1] != 2*firstBackoff || waits[8] != lastBackoff {
		t.Errorf("answers come after %v", waits)
	}
}

// TestHookFirst: what a hook set after the keeper had met the container goes with its rule: the hook has noted it.
func TestHookFirst(t *testing.T) {
	b := newBench(t, Options{}, "rules: []\n")
	e := targetOf(b.group)
	b.k.Started(e)
	// By a policy without the hook's limit: the daemon would remove it at once.
	eventually(t, "it is met", func() bool {
		all := b.k.all()
		if len(all) != 1 {
			return false
		}
		all[0].mu.Lock()
		defer all[0].mu.Unlock()
		return !all[0].settled.IsZero()
	})
	b.write(b.text(oneRule))
	done, err := Once(Options{Holder: b.opt.Holder, Policy: b.opt.Policy, Run: b.opt.Run}, e)
	if err != nil || len(done.Held) != 1 || rate(base(b.group), b.number) != "1048576" {
		t.Fatalf("Once() = %+v, %v", done, err)
	}
	b.load(oneRule)
	eventually(t, "the keeper holds it", func() bool {
		c := b.k.Status().Containers
		return len(c) == 1 && len(c[0].Held) == 1 && c[0].Held[0].Was == "none"
	})
	b.load("rules: []\n")
	b.has("")
	// The lock goes a moment after the limit.
	eventually(t, "no lock is left", func() bool {
		left, err := os.ReadDir(b.opt.Run + "/locks")
		return err == nil && len(left) == 0
	})
}

// TestNotesTogether: those who note the same container at the same time neither break its file nor hold it at once.
func TestNotesTogether(t *testing.T) {
	t.Parallel()
	s, err := newStore(t.TempDir(), "/proc")
	if err != nil {
		t.Fatal(err)
	}
	e := &entry{key: "1:1", target: target.Target{Name: strings.Repeat("x", 100000)}}
	var all sync.WaitGroup
	var inside atomic.Int32
	for range 8 {
		all.Go(func() {
			for range 50 {
				mine := &entry{key: e.key, target: e.target, held: map[Slot]*Limit{{Key: "cpus"}: {Grant: Grant{Slot: Slot{Key: "cpus"}}}}}
				if err := s.save(mine); err != nil {
					t.Error(err)
				}
				if _, _, err := s.load(mine); err != nil {
					t.Error(err)
				}
				unlock, err := s.lock(mine)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two have the lock")
				}
				time.Sleep(100 * time.Microsecond)
				inside.Add(-1)
				unlock()
			}
		})
	}
	all.Wait()
	if left := notes(t, s.run, containerKind); len(left) != 1 {
		t.Errorf("left %q", left)
	}
}

// TestCutOffNotes: what a keeper was writing when it was killed is nobody's note, and is tidied up.
func TestCutOffNotes(t *testing.T) {
	state := t.TempDir()
	b := newBench(t, Options{Holder: finderOf(t, target.Options{Containerd: []target.ContainerdRoot{{State: state}}})}, oneRule)
	b.k.Started(b.task(state))
	b.has("1048576")
	noted := func() []string { return notes(t, b.opt.Run, containerKind) }
	eventually(t, "it is noted", func() bool { return len(noted()) == 1 })
	b.stop()
	note := noted()[0]
	if err := os.WriteFile(filepath.Join(filepath.Dir(note), ".entry-1"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.begin()
	eventually(t, "all is known", func() bool { return b.k.complete.Load() })
	if left := noted(); len(left) != 1 || left[0] != note {
		t.Errorf("left %q, want %s", left, note)
	}
}

// TestBrokenNotes: a file that can't be read is told of.
func TestBrokenNotes(t *testing.T) {
	b := newBench(t, Options{}, oneRule)
	e := &entry{key: keyOf(targetOf(b.group))}
	path := b.k.store.journal.Path(e.entryID())
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{\"kind\": 5"), 0o600)); err != nil {
		t.Fatal(err)
	}
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	eventually(t, "the daemon names the broken file", func() bool { return b.said("its earlier limits can't be read: " + path) })
	eventually(t, "it is noted again", func() bool {
		text, err := os.ReadFile(path)
		return err == nil && json.Valid(text)
	})
}
