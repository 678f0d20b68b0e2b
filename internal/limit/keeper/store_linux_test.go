package keeper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestStoreFolder: the folder of what is held may have any name, also one that is a pattern.
func TestStoreFolder(t *testing.T) {
	s, err := newStore(filepath.Join(t.TempDir(), `a[b]*\?`, "held"), "/proc")
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, k kept) {
		t.Helper()
		b, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	write(budgetFile+"1.json", kept{Boot: s.boot, Group: "/pod"})
	write("alive.json", kept{Boot: s.boot, PID: 7})
	write("ended.json", kept{Boot: s.boot, PID: 8})
	write("torn.json.123", kept{})
	if paths, unread := s.budgets(); !slices.Equal(paths, []string{"/pod"}) || len(unread) > 0 {
		t.Errorf("budgets = %q, %v", paths, unread)
	}
	if n := s.sweep(nil, func(pid int, _ uint64) bool { return pid == 7 }); n != 1 {
		t.Errorf("%d targets of others, want 1", n)
	}
	var left []string
	files, err := os.ReadDir(s.dir)
	for _, f := range files {
		left = append(left, f.Name())
	}
	if diff := cmp.Diff([]string{"alive.json", budgetFile + "1.json"}, left); err != nil || diff != "" {
		t.Errorf("left (-want +got):\n%s%v", diff, err)
	}
}
