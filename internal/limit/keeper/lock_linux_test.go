package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/testkit/journaltest"
)

// TestLockRemoved: a keeper whose lock or whole folder was removed makes them anew and notes again what it holds, so that no second
// one begins beside it, and the next one knows what to remove.
func TestLockRemoved(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Poll: 10 * time.Millisecond}, oneRule)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	noted := func() bool { return len(notes(t, b.opt.Run, containerKind)) == 1 }
	eventually(t, "it is noted", noted)
	for i, name := range []string{"journal/keeper/daemon.json", "journal", ""} {
		path := filepath.Join(b.opt.Run, name)
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, fmt.Sprintf("%s.gone-%d", b.opt.Run, i)); err != nil {
			t.Fatal(err)
		}
		eventually(t, path+" is made anew", func() bool {
			now, err := os.Stat(path)
			// Its notes may be back before it has claimed the folder.
			_, unclaimed := os.Stat(filepath.Join(b.opt.Run, "journal/keeper/daemon.json"))
			return err == nil && unclaimed == nil && !os.SameFile(before, now) && noted()
		})
		if _, err := New(b.opt); !errors.Is(err, ErrRunning) {
			t.Errorf("a second keeper after %s was removed: %v", path, err)
		}
	}
	// A policy that turns bad then stops no start: the hook has the one that was good last.
	eventually(t, "the good policy is kept again", func() bool {
		text, err := os.ReadFile(filepath.Join(b.opt.Run, LastGood))
		return err == nil && string(text) == b.text(oneRule)
	})
	b.write("rules: 5\n")
	if done, err := Once(Options{Holder: b.opt.Holder, Policy: b.opt.Policy, Run: b.opt.Run}, targetOf(b.group)); err != nil || len(done.Held) != 1 {
		t.Errorf("Once() with a bad policy = %+v, %v", done, err)
	}
	if !b.said("was removed, and has been created again") {
		t.Error("the log says nothing of it")
	}
	b.stop()
	if left := journaltest.Entries(t, b.opt.Run); len(left) != 1 || len(notes(t, b.opt.Run, containerKind)) != 1 {
		t.Errorf("left %q", left)
	}
	b.write("rules: []\n")
	b.begin()
	b.k.Started(targetOf(b.group))
	b.has("")
}
