package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openPTY opens a terminal of its own: what is written to keyboard is read
// from tty.
func openPTY(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("missing capability: a pseudo-terminal (%v)", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	mustDo(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	mustDo(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	mustDo(t, err)
	t.Cleanup(func() { tty.Close() })
	return keyboard, tty
}

// TestResultsRmAsks answers on a terminal.
func TestResultsRmAsks(t *testing.T) {
	for _, tt := range []struct {
		answer string
		status int
		left   int
	}{
		{"\n", exitFailure, 3},
		{"no\n", exitFailure, 3},
		{"\x04", exitFailure, 3}, // The end of input.
		{"yellow\n", exitFailure, 3},
		{"y\n", exitDone, 2},
		{"Yes\n", exitDone, 2},
	} {
		t.Run(fmt.Sprintf("%q", tt.answer), func(t *testing.T) {
			state, _ := recordedRuns(t)
			keyboard, tty := openPTY(t)
			_, err := keyboard.WriteString(tt.answer)
			mustDo(t, err)
			var out, talk bytes.Buffer
			a := &app{stdin: tty, stdout: &out, stderr: &talk}
			status := a.run(context.Background(), []string{"results", "rm", "last", "--state", state})
			if want := "Remove 1 run (" + badRun + ") with 4 trials? [y/N] "; status != tt.status || out.Len() != 0 || !strings.Contains(talk.String(), want) {
				t.Errorf("status %d, stdout %q, stderr %q, want status %d and %q", status, out.String(), talk.String(), tt.status, want)
			}
			if ids, err := openState(t, state).IDs(); err != nil || len(ids) != tt.left {
				t.Errorf("left are %v, %v, want %d", ids, err, tt.left)
			}
		})
	}
}

// TestResultsRmDevNull: a character device is not yet a terminal.
func TestResultsRmDevNull(t *testing.T) {
	state, _ := recordedRuns(t)
	null, err := os.Open(os.DevNull)
	mustDo(t, err)
	defer null.Close()
	var talk bytes.Buffer
	a := &app{stdin: null, stdout: &talk, stderr: &talk}
	if status := a.run(context.Background(), []string{"results", "rm", "last", "--state", state}); status != exitUsage || !strings.Contains(talk.String(), "give --yes") {
		t.Errorf("status %d, %q", status, talk.String())
	}
}

// TestReportOfNothing: a report of a folder without runs says where it looked, and makes nothing there. It made the folder with a database,
// as where --state is mistyped.
func TestReportOfNothing(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "none")
	r := plimsoll(t, t.Context(), empty, "", "report", "last")
	if want := "plimsoll: run \"last\" is not known: no run is recorded in " + empty + "\n"; r.status != exitUsage || r.stderr != want {
		t.Errorf("status %d, %q, want 2 and %q", r.status, r.stderr, want)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("a report made a state folder")
	}
}
