package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"plimsoll/internal/measure/store"
)

// TestResumeOwnsBeforeItReads: a run that another process measures isn't looked at, since what is
// read of it is old a moment later.
func TestResumeOwnsBeforeItReads(t *testing.T) {
	state, _ := recordedRuns(t)
	resume := func() (int, string) {
		var talk bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &talk}
		status := a.run(context.Background(), []string{"run", "--resume", "--state", state, badRun})
		return status, talk.String()
	}
	release, err := openState(t, state).Own(badRun)
	mustDo(t, err)
	if status, talk := resume(); status != exitFailure || !strings.Contains(talk, store.ErrAlive.Error()) {
		t.Errorf("status %d, want that the run has an owner:\n%s", status, talk)
	}
	mustDo(t, release())
	for range 2 { // Whoever is refused gives the run up again.
		if status, talk := resume(); status == exitDone || strings.Contains(talk, store.ErrAlive.Error()) {
			t.Errorf("status %d:\n%s", status, talk)
		}
	}
}
