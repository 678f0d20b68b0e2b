package journal

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
)

// TestKept: what belongs to no process is swept by none, and every process may change and remove it, but not what a living owner has.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	a, b := Open(dir), Open(dir)
	// It was its maker's while that made it.
	if err := errors.Join(a.Put(t.Context(), "thing", "a", 1), a.Keep(t.Context(), "thing", "a", 2), a.Keep(t.Context(), "thing", "b", 3)); err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir); !slices.Equal(left, []string{"lock", "thing/a.json", "thing/b.json"}) {
		t.Errorf("the maker has left %q", left)
	}
	removed, err := b.Sweep(t.Context(), map[string]Undo{"thing": func(context.Context, Entry) ([]string, error) { return []string{"it"}, nil }})
	if err != nil || len(removed) > 0 {
		t.Errorf("Sweep() = %q, %v", removed, err)
	}
	e, err := b.Get("thing", "a")
	if err != nil || !e.Kept() || string(e.Payload) != "2" {
		t.Errorf("Get() = %+v, %v", e, err)
	}
	if err := b.Put(t.Context(), "thing", "a", 3); err != nil {
		t.Errorf("Put() of what belongs to no process = %v", err)
	}
	var owned *OwnedError
	for name, err := range map[string]error{"Put": a.Put(t.Context(), "thing", "a", 4), "Keep": a.Keep(t.Context(), "thing", "a", 4), "Discard": a.Discard(t.Context(), "thing", "a")} {
		if !errors.As(err, &owned) {
			t.Errorf("%s of a living owner's = %v", name, err)
		}
	}
	if err := errors.Join(b.Discard(t.Context(), "thing", "a"), b.Discard(t.Context(), "thing", "b"), b.Discard(t.Context(), "thing", "b")); err != nil {
		t.Error(err)
	}
	if _, err := a.Get("thing", "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get() of what was discarded = %v", err)
	}
	if left := files(t, dir); !slices.Equal(left, []string{"lock"}) {
		t.Errorf("left: %q", left)
	}
}

// TestDiscardOfTheDead: an entry whose owner has ended may be discarded by every process.
func TestDiscardOfTheDead(t *testing.T) {
	dir := t.TempDir()
	dead := Open(dir)
	if err := dead.Put(t.Context(), "thing", "a", 1); err != nil {
		t.Fatal(err)
	}
	die(t, dead)
	if err := Open(dir).Discard(t.Context(), "thing", "a"); err != nil {
		t.Error(err)
	}
	if list, err := Open(dir).Entries("thing"); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}
