package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRemovedMeanwhile: a database that is removed or replaced under its writer is
// noticed with the next trial, and nothing of what was acknowledged is lost.
func TestRemovedMeanwhile(t *testing.T) {
	remove := func(t *testing.T, path string) {
		for _, p := range []string{path, path + "-wal", path + "-shm"} {
			must(t, os.Remove(p))
		}
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, path string)
	}{
		{"removed", remove},
		{"its folder removed", func(t *testing.T, path string) { must(t, os.RemoveAll(filepath.Dir(path))) }},
		{"replaced", func(t *testing.T, path string) {
			remove(t, path)
			s, err := Open(path)
			must(t, err)
			must(t, s.Close())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openTemp(t)
			must(t, s.PutRun(sampleRun("r")))
			must(t, s.PutTrial(sampleTrial("r", 0, 12)))
			tt.damage(t, s.path)
			err := s.PutTrial(sampleTrial("r", 1, 12))
			rescued := filepath.Join(filepath.Dir(s.path), "rescued-r")
			if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "--state "+rescued) {
				t.Fatalf("PutTrial into a database that is gone = %v, want ErrGone with %s", err, rescued)
			}
			// How the run ended is in the copy, too.
			run := sampleRun("r")
			run.Status = "interrupted"
			if again := s.PutRun(run); again == nil || again.Error() != err.Error() {
				t.Errorf("PutRun = %v, want %v", again, err)
			}
			saved := openAt(t, filepath.Join(rescued, "plimsoll.db"))
			trials, err := saved.Trials("r", TrialsOptions{Histograms: true})
			must(t, err)
			got, err := saved.Run("r")
			must(t, err)
			if len(trials) != 2 || got.Status != "interrupted" {
				t.Errorf("%d trials of a run that is %s are saved, want 2 and interrupted", len(trials), got.Status)
			}
		})
	}
}
