package main

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
)

// result is what one plimsoll command did.
type result struct {
	status         int
	stdout, stderr string
}

// wantError fails unless the command ended with a status, and for each text that its standard error lacks.
func (r result) wantError(t *testing.T, status int, texts ...string) {
	t.Helper()
	r.wants(t, status, r.stderr, texts)
}

// wantOutput is wantError for standard output.
func (r result) wantOutput(t *testing.T, status int, texts ...string) {
	t.Helper()
	r.wants(t, status, r.stdout, texts)
}

func (r result) wants(t *testing.T, status int, printed string, texts []string) {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d\n%s%s", r.status, status, r.stdout, r.stderr)
	}
	texttest.Has(t, printed, texts)
}

// A transcript collects command lines with their exit statuses and all that they print, for one golden file.
type transcript struct{ sheet golden.Sheet }

// add adds a command line. Standard error is marked, as a shell names it.
func (s *transcript) add(line []string, r result) {
	var b strings.Builder
	fmt.Fprintf(&b, "exit %d\n%s", r.status, r.stdout)
	for l := range strings.Lines(r.stderr) {
		b.WriteString("2> " + l)
	}
	shown := make([]string, len(line))
	for i, word := range line {
		if shown[i] = word; word == "" || strings.ContainsAny(word, " \n\"") {
			shown[i] = fmt.Sprintf("%q", word)
		}
	}
	s.sheet.Add("plimsoll "+strings.Join(shown, " "), b.String())
}

// check compares the transcript with testdata/NAME.
func (s *transcript) check(t *testing.T, name string, masks ...golden.Mask) {
	t.Helper()
	s.sheet.Check(t, name, masks...)
}
