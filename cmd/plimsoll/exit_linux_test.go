package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/disktest"
)

// TestExitCodes holds a run to the table of the exit statuses.
func TestExitCodes(t *testing.T) {
	needRun(t)
	t.Parallel() // Its state is its own.
	setVariable(t, "DOCKER_HOST", "unix:///nowhere/docker.sock")
	full := disktest.Mount(t, "tmpfs", "tmpfs", 0, "nr_inodes=2") // Writable, and without room for a file of the trial's.
	file := filepath.Join(t.TempDir(), "file")
	mustDo(t, os.WriteFile(file, nil, 0o600))
	plan := func(engines, places string) string {
		return "name: p\nworkloads: {w: {kind: append, count: 20}}\nengines: [" + engines + "]\nplaces: {" + places + "}\nblocks: 40\n"
	}
	failing := plan("host", "dir: {}, full: {kind: dir, path: "+full+"}")
	for _, tt := range []struct {
		name, plan string
		args       []string
		// after is how many trials are recorded when the run is interrupted, 0: never.
		after, want int
		said        string
	}{
		{"done", plan("host", "dir: {}"), []string{"--blocks", "1"}, 0, exitDone, ""},
		{"some cells skipped", plan("host, docker", "dir: {}, layer: {}"), []string{"--blocks", "1"}, 0, exitDone, ""},
		{"some cells failed", failing, []string{"--blocks", "1"}, 0, exitCellsFailed, "1 trial failed"},
		{"interrupted", plan("host", "dir: {}"), nil, 2, exitFailure, "--resume"},
		{"interrupted after a cell failed", failing, nil, 6, exitFailure, "--resume"},
		{"all cells skipped", plan("docker", "layer: {}"), nil, 0, exitCannot, "no cell of the plan can be measured here"},
		{"a bad plan", plan("hots", "dir: {}"), nil, 0, exitUsage, "did you mean host?"},
		{"a bad flag", plan("host", "dir: {}"), []string{"--quik"}, 0, exitUsage, "did you mean --quick?"},
		{"a missing path", plan("host", "dir: {path: /nowhere/at/all}"), nil, 0, exitUsage, "make the folder first"},
		{"a state folder that is a file", plan("host", "dir: {}"), []string{"--state", file}, 0, exitFailure, "--state"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.after > 0 {
				go func() {
					for ctx.Err() == nil && countTrials(dir) < tt.after {
						time.Sleep(2 * time.Millisecond)
					}
					cancel()
				}()
			}
			// The last --state wins, so a row's comes behind the test's own.
			args := append([]string{"run", "-", "--state", dir}, tt.args...)
			var errs bytes.Buffer
			a := &app{stdin: strings.NewReader(tt.plan), stdout: io.Discard, stderr: &errs, env: environment(t)}
			if status := a.run(ctx, args); status != tt.want || !strings.Contains(errs.String(), tt.said) {
				t.Errorf("status %d, want %d and %q; stderr:\n%s", status, tt.want, tt.said, errs.String())
			}
		})
	}
}
