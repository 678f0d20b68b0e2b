package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declaredTests maps the name of each test function below top to the text of its file.
func declaredTests(t *testing.T, top string) map[string]string {
	t.Helper()
	there := map[string]string{}
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	for _, dir := range []string{"cmd", "hist", "internal", "load", "scripts"} {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(b, -1) {
				there[string(m[1])] = string(b)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return there
}

// TestSupportNamesTests: what docs/reference/support.md calls tested has the tests that it names, and what it says runs in a guest is chosen by
// scripts/test-guest.
func TestSupportNamesTests(t *testing.T) {
	top := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(top, "docs", "reference", "support.md"))
	if err != nil {
		t.Fatal(err)
	}
	guest, err := os.ReadFile(filepath.Join(top, "scripts", "test-guest"))
	if err != nil {
		t.Fatal(err)
	}
	there := declaredTests(t, top)
	var chosen []*regexp.Regexp
	for _, m := range regexp.MustCompile(`(?m)^t '.*' \S+ '?([^'\n]+?)'?$`).FindAllStringSubmatch(string(guest), -1) {
		chosen = append(chosen, regexp.MustCompile(m[1]))
	}
	inGuest := func(name string) bool {
		for _, re := range chosen {
			if re.MatchString(name) {
				return true
			}
		}
		return false
	}
	named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	rows, tests := 0, 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		rows++
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			tests++
			if there[m[1]] == "" {
				t.Errorf("docs/reference/support.md names %s, which is no test: %s", m[1], line)
			}
			if strings.Contains(line, "| in a guest") && !inGuest(m[1]) {
				t.Errorf("docs/reference/support.md says that %s runs in a guest; scripts/test-guest chooses it nowhere", m[1])
			}
		}
	}
	if rows < 30 || tests < 30 || len(chosen) < 15 {
		t.Errorf("%d rows with %d tests, %d choices of the guest: they are not read as they are written", rows, tests, len(chosen))
	}
}
