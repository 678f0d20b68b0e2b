package journal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Kinds of this package's own tests. It is a variable because the processes of killtest.Life end in an init function.
var _ = func() bool {
	Kinds = append(Kinds, Kind{Name: "thing"}, Kind{Name: "swept"}, Kind{Name: "other"})
	return true
}()

// TestKinds: an entry of a kind that isn't in Kinds can't be made, and each kind in it has a test that kills the owner at every write.
func TestKinds(t *testing.T) {
	j := Open(t.TempDir())
	for name, err := range map[string]error{"Put": j.Put(t.Context(), "new", "a", 1), "Keep": j.Keep(t.Context(), "new", "a", 1)} {
		if err == nil {
			t.Errorf("%s of a kind that isn't in Kinds has no error", name)
		}
	}
	killed := killedKinds(t, "../../..")
	for i, k := range Kinds {
		if k.Thing == "" {
			continue // It is of this package's tests.
		}
		if k.Undone == "" && k.Kept == "" {
			t.Errorf("%s: nothing removes its entries", k.Name)
		}
		if i > 0 && Kinds[i-1].Thing != "" && Kinds[i-1].Name >= k.Name {
			t.Errorf("%s is not in order", k.Name)
		}
		if !slices.Contains(killed, k.Name) {
			t.Errorf("%s: no killtest.Test names it", k.Name)
		}
	}
	for _, name := range killed {
		if _, ok := KindOf(name); !ok {
			t.Errorf("%s is the kind of a killtest.Test, and isn't in Kinds", name)
		}
	}
}

// kindsOfTests matches the kinds that a killtest.Test names.
var kindsOfTests = regexp.MustCompile(`(?m)^\s*Kinds:\s*\[\]string\{("[^}]*")\},$`)

// killedKinds are the kinds that the tree's killtest.Tests name. Each fails if none of the processes that it kills leaves an entry of such a kind.
func killedKinds(t *testing.T, tree string) (kinds []string) {
	t.Helper()
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range kindsOfTests.FindAllSubmatch(text, -1) {
			for name := range strings.SplitSeq(string(m[1]), ", ") {
				kinds = append(kinds, strings.Trim(name, `"`))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}
