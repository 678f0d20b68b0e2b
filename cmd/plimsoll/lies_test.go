package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTableOfLies holds the table of planted lies in docs/reference/planted-lies.md to the tests: each row is there once and names a
// test that exists, and each test that plants a lie (TestLie...) has a row. Those that may skip on this machine are marked
// "(guest)", and a guest runs them.
func TestTableOfLies(t *testing.T) {
	top := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(top, "docs", "reference", "planted-lies.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "# Planted lies\n")
	if !found {
		t.Fatal("docs/reference/planted-lies.md has no section \"Planted lies\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	there, guest := declaredTests(t, top), guestRuns(t, top)
	skipped, err := os.ReadFile(filepath.Join(top, ".ci", "may-skip"))
	mustDo(t, err)
	row := regexp.MustCompile("^\\| (.+) \\| (.+) \\| (`TestLie[^|]*) \\|$")
	name := regexp.MustCompile("`(TestLie[A-Za-z0-9]+)(?:/([^`]+))?`")
	inTable, before := map[string]bool{}, map[string]bool{}
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
		if before[m[2]+m[3]] {
			t.Errorf("another row has the same test and is caught by the same: %s", line)
		}
		before[m[2]+m[3]] = true
		names := name.FindAllStringSubmatch(m[3], -1)
		if len(names) == 0 {
			t.Errorf("the row names no test: %s", line)
		}
		for _, n := range names {
			inTable[n[1]] = true
			full := strings.TrimSuffix(n[1]+"/"+n[2], "/")
			mark, skips := strings.HasSuffix(m[3], "(guest)"), strings.Contains(string(skipped), `\.`+full+" ")
			if mark != skips || mark && !guest(full) {
				t.Errorf("%s is marked (guest): %v, may skip: %v, runs in a guest: %v", full, mark, skips, guest(full))
			}
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
			t.Errorf("%s has no row in docs/reference/planted-lies.md", test)
		}
	}
	t.Logf("%d lies", rows)
}

// guestRuns reports which tests make test-guest runs: those of the patterns in its script.
func guestRuns(t *testing.T, top string) func(test string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "scripts", "test-guest"))
	mustDo(t, err)
	var patterns []string
	for _, m := range regexp.MustCompile(`(?m)^(?:t '[^']*' \S+|  if vm \S+) '?([^"'\s;]+)`).FindAllStringSubmatch(string(text), -1) {
		patterns = append(patterns, m[1])
	}
	return func(test string) bool {
		name, sub, _ := strings.Cut(test, "/")
		return slices.ContainsFunc(patterns, func(p string) bool {
			of, subtests, _ := strings.Cut(p, "/")
			return regexp.MustCompile(of).MatchString(name) && regexp.MustCompile(subtests).MatchString(sub)
		})
	}
}
