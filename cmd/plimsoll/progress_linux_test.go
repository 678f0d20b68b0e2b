package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
)

// TestOutputSparesTheDatabase: no output file is the database.
func TestOutputSparesTheDatabase(t *testing.T) {
	a := &app{stateDir: t.TempDir()}
	db := filepath.Join(a.stateDir, "plimsoll.db")
	if err := os.WriteFile(db, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(db, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{db, link} {
		if err := a.spareDatabase(path); err == nil || !strings.Contains(err.Error(), "own database") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := a.spareDatabase(filepath.Join(a.stateDir, "other")); err != nil {
		t.Error(err)
	}
}

func TestProgress(t *testing.T) {
	trial := func(block int, status string) *record.Trial {
		return &record.Trial{Key: "k", Block: block, Status: status, Error: "why"}
	}
	for _, row := range []struct {
		name     string
		terminal bool
		want     []string
	}{
		{"file", false, []string{"4 trials in 2 blocks\n", "block 1 of 2\n", "hello\n", "failed: k, block 1: why\n", "block 2 of 2\n"}},
		{"terminal", true, []string{"4 trials in 2 blocks\n", "\r\x1b[Ktrial 1 of 4, block 1 of 2", "\r\x1b[Khello\n", "\r\x1b[Kfailed: k, block 1: why\n", "trial 4 of 4, block 2 of 2\r\x1b[K"}},
	} {
		var b bytes.Buffer
		p := newProgress(&b)
		p.terminal = row.terminal
		p.Plan(4, 2, 0)
		p.Trial(1, trial(0, record.Done))
		p.Note("hello")
		p.Trial(2, trial(0, record.Failed))
		p.Trial(3, trial(1, record.Done))
		p.Trial(4, trial(1, record.Done))
		rest := b.String()
		for _, w := range row.want {
			var ok bool
			if _, rest, ok = strings.Cut(rest, w); !ok {
				t.Errorf("%s: %q is not in its place in %q", row.name, w, b.String())
			}
		}
	}
}

// TestProgressLeft: the time left counts what this process did, not an earlier one.
func TestProgressLeft(t *testing.T) {
	p := newProgress(io.Discard)
	p.Plan(100, 1, 50)
	p.first = 50
	if got := p.left(54); got != "" {
		t.Errorf("left after 5 trials = %q, want none yet", got)
	}
	p.begin = p.begin.Add(-10 * 1e9)
	if got := p.left(59); got != ", about 41 s left" {
		t.Errorf("left = %q, want 41 trials of a second", got)
	}
}
