package keeper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/state/journal"
)

// age makes a record an hour older.
func age(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e journal.Entry
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatal(err)
	}
	e.Made = e.Made.Add(-time.Hour)
	if b, err = json.Marshal(e); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStoreFolder: the folder of what is held may have any name, also one that is a pattern.
func TestStoreFolder(t *testing.T) {
	s, err := newStore(filepath.Join(t.TempDir(), `a[b]*\?`), "/proc")
	if err != nil {
		t.Fatal(err)
	}
	write := func(kind, id string, k record) {
		t.Helper()
		k.Process.Boot, k.Held = s.boot, make([]recordedLimit, 1)
		if err := s.journal.Keep(t.Context(), kind, id, k); err != nil {
			t.Fatal(err)
		}
		age(t, s.journal.Path(kind, id))
	}
	write(groupKind, "1", record{Group: "/pod"})
	write(containerKind, "alive", record{Process: procfs.Process{PID: 7}})
	write(containerKind, "ended", record{Process: procfs.Process{PID: 8}})
	write(containerKind, "young", record{Process: procfs.Process{PID: 8}})
	young := record{Process: procfs.Process{PID: 8, Boot: s.boot}, Held: make([]recordedLimit, 1)}
	if err := s.journal.Keep(t.Context(), containerKind, "young", young); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.run, "journal", containerKind, ".entry-1"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if paths, unread := s.groups(); !slices.Equal(paths, []string{"/pod"}) || len(unread) > 0 {
		t.Errorf("groups = %q, %v", paths, unread)
	}
	if n, unread := s.sweep(nil, func(p procfs.Process) bool { return p.PID == 7 }); n != 1 || len(unread) != 0 {
		t.Errorf("%d targets of others, want 1; unreadable: %v", n, unread)
	}
	var left []string
	files, err := os.ReadDir(filepath.Join(s.run, "journal", containerKind))
	for _, f := range files {
		left = append(left, f.Name())
	}
	if diff := cmp.Diff([]string{"alive.json", "young.json"}, left); err != nil || diff != "" {
		t.Errorf("left (-want +got):\n%s%v", diff, err)
	}
}

// TestSweepUnreadable: a record that can't be read stays while its container lives, or may live, and is reported. Records with an
// unreadable payload were removed after a minute.
func TestSweepUnreadable(t *testing.T) {
	s, err := newStore(t.TempDir(), "/proc")
	if err != nil {
		t.Fatal(err)
	}
	payload := func(id string) {
		t.Helper()
		if err := s.journal.Keep(t.Context(), containerKind, id, "damaged"); err != nil {
			t.Fatal(err)
		}
		age(t, s.journal.Path(containerKind, id))
	}
	for _, id := range []string{"7:70", "8:80", "docker:web"} {
		payload(id)
	}
	for _, id := range []string{"7:71", "8:81"} {
		if err := os.WriteFile(s.journal.Path(containerKind, id), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, unread := s.sweep(nil, func(p procfs.Process) bool { return p.PID == 7 && p.Start >= 70 })
	var told []string
	for _, d := range unread {
		told = append(told, d.ID)
	}
	slices.Sort(told)
	want := []string{"7:70", "7:71", "docker:web"}
	if diff := cmp.Diff(want, told); diff != "" || n != 3 {
		t.Errorf("%d targets of others; unreadable (-want +got):\n%s", n, diff)
	}
	if left := notes(t, s.run, containerKind); len(left) != len(want) {
		t.Errorf("left %q, want %q", left, want)
	}
}
