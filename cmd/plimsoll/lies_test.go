package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTableOfLies holds the table of planted lies in docs/checks.md to the tests: each row names a
// test that exists, and each test that plants a lie (TestLie...) has a row.
func TestTableOfLies(t *testing.T) {
	top := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(top, "docs", "checks.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Planted lies\n")
	if !found {
		t.Fatal("docs/checks.md has no section \"Planted lies\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	there := declaredTests(t, top)
	row := regexp.MustCompile("^\\| (.+) \\| (.+) \\| (`TestLie[^|]*) \\|$")
	name := regexp.MustCompile("`(TestLie[A-Za-z0-9]+)(?:/([^`]+))?`")
	inTable := map[string]bool{}
	rows := 0
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| lie ") || strings.HasPrefix(line, "|---") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("no row of lie, what catches it, and test: %s", line)
			continue
		}
		rows++
		names := name.FindAllStringSubmatch(m[3], -1)
		if len(names) == 0 {
			t.Errorf("the row names no test: %s", line)
		}
		for _, n := range names {
			inTable[n[1]] = true
			file, ok := there[n[1]]
			switch {
			case !ok:
				t.Errorf("%s does not exist: %s", n[1], line)
			case n[2] != "" && !strings.Contains(strings.ReplaceAll(file, " ", "_"), n[2]):
				t.Errorf("the file of %s has no subtest %q", n[1], n[2])
			}
		}
	}
	for test := range there {
		if strings.HasPrefix(test, "TestLie") && !inTable[test] {
			t.Errorf("%s has no row in docs/checks.md", test)
		}
	}
	t.Logf("%d lies", rows)
}
