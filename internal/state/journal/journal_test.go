package journal

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// files lists a folder's files, with those below it.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// die ends an owner as its process's end would: its lock is released, and its files stay. As its process still runs, its entries name one
// that doesn't.
func die(t *testing.T, j *Journal) {
	t.Helper()
	for path := range j.own {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var e Entry
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(err)
		}
		if e.Owner.Start++; e.Sweeper != nil {
			e.Sweeper.Start++
		}
		if b, err = json.Marshal(e); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if j.owner != nil {
		syscall.ForkLock.RLock() // A child that another test starts would have the lock until its program begins.
		j.owner.Close()
		syscall.ForkLock.RUnlock()
	}
}

func TestPut(t *testing.T) {
	dir := t.TempDir()
	a, b := Open(dir), Open(dir)
	for _, id := range []string{"one", "../../etc/passwd", "a/b", ".", "..", " ", "ä%2F", strings.Repeat("x", 200)} {
		if err := a.Put(t.Context(), "thing", id, map[string]string{"of": id}); err != nil {
			t.Errorf("Put(%q) = %v", id, err)
		}
		if err := a.Put(t.Context(), "thing", id, map[string]string{"of": id + "2"}); err != nil {
			t.Errorf("a second Put(%q) = %v", id, err)
		}
		var owned *OwnedError
		if err := b.Put(t.Context(), "thing", id, nil); !errors.As(err, &owned) || owned.Entry.Owner.PID != os.Getpid() {
			t.Errorf("Put(%q) of another's = %v, want an OwnedError with its owner", id, err)
		}
		if _, err := b.adopt(t.Context(), "thing", id); !errors.As(err, &owned) {
			t.Errorf("adopt(%q) of another's = %v, want an OwnedError", id, err)
		}
	}
	list, err := b.Entries("thing")
	if err != nil || len(list) != 8 {
		t.Fatalf("Entries() = %v, %v", list, err)
	}
	for _, e := range list {
		var p struct{ Of string }
		if err := json.Unmarshal(e.Payload, &p); err != nil || p.Of != e.ID+"2" {
			t.Errorf("%+v: of %q, %v", e, p.Of, err)
		}
		if !a.Alive(e) || !b.Alive(e) {
			t.Errorf("%+v: alive to its owner %v, to the other %v", e, a.Alive(e), b.Alive(e))
		}
		if err := a.Remove(e.Kind, e.ID); err != nil {
			t.Error(err)
		}
	}
	if left := files(t, dir); !slices.Equal(left, []string{"lock"}) {
		t.Errorf("left: %q", left)
	}
	for _, bad := range [][2]string{{"", "x"}, {"a/b", "x"}, {"..", "x"}, {"thing", ""}} {
		if err := a.Put(t.Context(), bad[0], bad[1], nil); err == nil {
			t.Errorf("Put(%q) has no error", bad)
		}
	}
}

// TestSweep: what dead owners left is undone once, what can't be undone stays for the next time, and the living keep what they have.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	living, dead, sweeper := Open(dir), Open(dir), Open(dir)
	for j, ids := range map[*Journal][]string{living: {"a", "b"}, dead: {"c", "d", "e"}} {
		for _, id := range ids {
			if err := j.Put(t.Context(), "thing", id, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := dead.Put(t.Context(), "other", "f", nil); err != nil {
		t.Fatal(err)
	}
	die(t, dead)
	entry, err := os.ReadFile(dead.Path("thing", "d"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thing", "torn.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := errors.New("busy")
	var undone []string
	kinds := map[string]Undo{"thing": func(_ context.Context, e Entry) ([]string, error) {
		if e.ID == "d" && busy != nil {
			return nil, busy
		}
		undone = append(undone, e.ID)
		return []string{"thing " + e.ID}, nil
	}}
	removed, err := sweeper.Sweep(t.Context(), kinds)
	var damaged *DamagedError
	if !errors.Is(err, busy) || !errors.As(err, &damaged) || filepath.Base(damaged.Path) != "torn.json" {
		t.Errorf("Sweep() = %v, want what is busy and what is torn", err)
	}
	if want := []string{"thing c", "thing e"}; !slices.Equal(removed, want) {
		t.Errorf("Sweep() removed %q, want %q", removed, want)
	}
	// The entry is the dead owner's again.
	if b, err := os.ReadFile(dead.Path("thing", "d")); err != nil || string(b) != string(entry) {
		t.Errorf("what could not be undone is recorded as %s, %v, want %s", b, err, entry)
	}
	busy = nil
	if removed, _ := Open(dir).Sweep(t.Context(), kinds); !slices.Equal(removed, []string{"thing d"}) {
		t.Errorf("the next Sweep() removed %q", removed)
	}
	if want := []string{"c", "e", "d"}; !slices.Equal(undone, want) {
		t.Errorf("undone: %q, want %q", undone, want)
	}
	want := []string{"lock", "other/f.json", "thing/a.json", "thing/b.json", "thing/torn.json"}
	if left := slices.DeleteFunc(files(t, dir), func(f string) bool { return strings.HasSuffix(f, ownerSuffix) }); !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
}

// TestAdopt: a sweeper has a dead owner's entry to itself.
func TestAdopt(t *testing.T) {
	dir := t.TempDir()
	dead, next := Open(dir), Open(dir)
	if err := dead.Put(t.Context(), "thing", "a", 42); err != nil {
		t.Fatal(err)
	}
	die(t, dead)
	e, err := next.adopt(t.Context(), "thing", "a")
	if err != nil || string(e.Payload) != "42" {
		t.Errorf("adopt() = %+v, %v", e, err)
	}
	if removed, err := Open(dir).Sweep(t.Context(), map[string]Undo{"thing": func(context.Context, Entry) ([]string, error) { return []string{"it"}, nil }}); err != nil || removed != nil {
		t.Errorf("a Sweep after that removed %q, %v", removed, err)
	}
	if _, err := next.adopt(t.Context(), "thing", "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("adopt() of nothing = %v", err)
	}
}

// TestOthers: an owner neither removes what another recorded, nor writes over what can't be read.
func TestOthers(t *testing.T) {
	dir := t.TempDir()
	a, b := Open(dir), Open(dir)
	if err := a.Put(t.Context(), "thing", "a", 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove("thing", "a"); err != nil {
		t.Errorf("Remove() of another's = %v", err)
	}
	if list, err := b.Entries("thing"); err != nil || len(list) != 1 {
		t.Errorf("after it there are %v, %v, want the other's entry", list, err)
	}
	torn := filepath.Join(dir, "thing", "torn.json")
	if err := os.WriteFile(torn, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if err := b.Put(t.Context(), "thing", "torn", 2); !errors.As(err, &damaged) {
		t.Errorf("Put() over a torn entry = %v, want a DamagedError", err)
	}
	if text, err := os.ReadFile(torn); string(text) != "{" {
		t.Errorf("the torn entry is %q, %v", text, err)
	}
}

// TestNone: a journal without a folder records nothing.
func TestNone(t *testing.T) {
	j := Open("")
	err := errors.Join(j.Put(t.Context(), "thing", "a", nil), j.Remove("thing", "a"))
	if list, lerr := j.Entries("thing"); err != nil || lerr != nil || list != nil {
		t.Errorf("%v, %v, %v", err, list, lerr)
	}
}

// TestOwns: an owner whose entry was removed no longer has it, and leaves an entry that another has made in its place.
func TestOwns(t *testing.T) {
	dir := t.TempDir()
	a, b := Open(dir), Open(dir)
	if a.Owns("thing", "a") {
		t.Error("it owns what isn't there")
	}
	if err := a.Put(t.Context(), "thing", "a", 1); err != nil {
		t.Fatal(err)
	}
	if !a.Owns("thing", "a") || b.Owns("thing", "a") {
		t.Error("an entry isn't its owner's alone")
	}
	if err := os.Remove(a.Path("thing", "a")); err != nil {
		t.Fatal(err)
	}
	if a.Owns("thing", "a") {
		t.Error("it owns what was removed")
	}
	if err := b.Put(t.Context(), "thing", "a", 2); err != nil {
		t.Fatal(err)
	}
	if a.Owns("thing", "a") {
		t.Error("it owns what another has made")
	}
	if err := a.Remove("thing", "a"); err != nil {
		t.Error(err)
	}
	if e, err := b.Get("thing", "a"); err != nil || string(e.Payload) != "2" || !b.Owns("thing", "a") {
		t.Errorf("the other's entry is %+v, %v", e, err)
	}
}

// TestDropped: what a Journal has made that nothing refers to any more is a living process's all the same.
func TestDropped(t *testing.T) {
	dir := t.TempDir()
	if err := Open(dir).Put(t.Context(), "thing", "a", 1); err != nil {
		t.Fatal(err)
	}
	for range 3 { // A file is closed after the collection that finds it.
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	j := Open(dir)
	e, err := j.Get("thing", "a")
	if err != nil || !j.Alive(e) {
		t.Errorf("%+v, %v: its owner passes for dead", e, err)
	}
}

// TestDamaged: the error of a damaged entry names its file once, the other entries are listed, and only DiscardDamaged removes it. What can't be
// reached is not damaged.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	j := Open(dir)
	if err := errors.Join(j.Keep(t.Context(), "thing", "a", 1), os.Mkdir(j.Path("thing", "folder"), 0o700), os.WriteFile(j.Path("thing", "torn:1"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	list, err := j.Entries("thing")
	damaged, other := Damaged(err)
	if len(list) != 1 || other != nil {
		t.Fatalf("Entries() = %+v, %v, want one", list, other)
	}
	if len(damaged) != 2 || damaged[0].ID != "folder" || damaged[1].ID != "torn:1" {
		t.Fatalf("damaged are %v, want folder and torn:1", damaged)
	}
	for _, d := range damaged {
		if strings.Count(d.Error(), d.Path) != 1 {
			t.Errorf("%v: the path is not there once", d)
		}
		if err := j.Discard(t.Context(), "thing", d.ID); !errors.As(err, new(*DamagedError)) {
			t.Errorf("Discard(%s) = %v, want a DamagedError", d.ID, err)
		}
		if err := errors.Join(j.DiscardDamaged(t.Context(), "thing", d.ID), j.DiscardDamaged(t.Context(), "thing", d.ID)); err != nil {
			t.Errorf("DiscardDamaged(%s) = %v", d.ID, err)
		}
	}
	if list, err := j.Entries("thing"); err != nil || len(list) != 1 {
		t.Errorf("Entries() = %+v, %v", list, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "file")).Get("thing", "a"); err == nil || errors.As(err, new(*DamagedError)) {
		t.Errorf("Get() in what is no folder = %v, want an error that isn't a DamagedError", err)
	}
}

// TestFailedUndo: an entry that could not be undone belongs to its dead owner again, whatever another sweep has removed
// meanwhile, so that this process and others may sweep it or put their own in its place. It belonged to the sweeper until
// that ended.
func TestFailedUndo(t *testing.T) {
	dir := t.TempDir()
	dead, sweeper := Open(dir), Open(dir)
	if err := dead.Put(t.Context(), "thing", "x", 1); err != nil {
		t.Fatal(err)
	}
	die(t, dead)
	// Its number means another process here: only the lock shows that it is dead.
	e, err := dead.read("thing", "x")
	if err != nil {
		t.Fatal(err)
	}
	e.Owner.Namespace = "another"
	if err := dead.write(e); err != nil {
		t.Fatal(err)
	}
	busy, undone := errors.New("busy"), 0
	kinds := map[string]Undo{"thing": func(context.Context, Entry) ([]string, error) {
		undone++
		// Another sweep meanwhile leaves the entry, and removes the lock that no entry names.
		if removed, err := Open(dir).Sweep(t.Context(), map[string]Undo{"thing": func(context.Context, Entry) ([]string, error) { return []string{"x"}, nil }}); err != nil || removed != nil {
			t.Errorf("a Sweep() beside another removed %q, %v", removed, err)
		}
		return nil, busy
	}}
	for n := 1; n <= 2; n++ {
		if _, err := sweeper.Sweep(t.Context(), kinds); !errors.Is(err, busy) || undone != n {
			t.Fatalf("Sweep() %d = %v, with %d undos in all", n, err, undone)
		}
		got, err := sweeper.Get("thing", "x")
		if err != nil {
			t.Fatal(err)
		}
		if got.Process() != e.Process() || got.Lock != e.Lock {
			t.Errorf("after Sweep() %d it is recorded as %+v, want the dead owner's %+v", n, got, e)
		}
		if sweeper.Alive(got) {
			t.Errorf("after Sweep() %d its owner is alive", n)
		}
	}
	other := Open(dir)
	if err := other.Put(t.Context(), "thing", "x", 2); err != nil {
		t.Errorf("Put() in its place = %v", err)
	}
	if _, err := sweeper.Sweep(t.Context(), kinds); err != nil || undone != 2 {
		t.Errorf("Sweep() of a living thing = %v, with %d undos in all, want 2", err, undone)
	}
	if err := other.Remove("thing", "x"); err != nil {
		t.Error(err)
	}
	if _, err := sweeper.Sweep(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if left := files(t, dir); !slices.Equal(left, []string{"lock"}) {
		t.Errorf("left: %q", left)
	}
}

// TestIDsOfAnyBytes: an id that is not UTF-8, such as the name of a control group, is found again. Its entry could be written and
// not be read.
func TestIDsOfAnyBytes(t *testing.T) {
	j := In(t.TempDir())
	ids := []string{"a\xff\xfe/b", "a\xfe\xff/b", "ü", "%2F"}
	for _, id := range ids {
		if err := j.Keep(t.Context(), "thing", id, id); err != nil {
			t.Fatal(err)
		}
	}
	list, err := j.Entries("thing")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range list {
		found[e.ID] = true
	}
	for _, id := range ids {
		if e, err := j.Get("thing", id); err != nil || e.ID != id || !found[id] {
			t.Errorf("Get(%q) = %q, %v; listed %v", id, e.ID, err, found[id])
		}
		if err := j.Discard(t.Context(), "thing", id); err != nil {
			t.Errorf("Discard(%q) = %v", id, err)
		}
	}
	if list, err := j.Entries("thing"); err != nil || len(list) > 0 {
		t.Errorf("left %v, %v", list, err)
	}
}
