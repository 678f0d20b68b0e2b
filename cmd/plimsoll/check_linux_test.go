package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/moby/client"

	"plimsoll/internal/measure/safety"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/leaktest"
)

// TestCheck checks a folder with the command.
func TestCheck(t *testing.T) {
	t.Parallel()
	needRun(t)
	state, dir := t.TempDir(), t.TempDir()
	leaktest.Check(t, dir)
	r := plimsoll(t, t.Context(), state, "", "check", dir, "--json")
	if r.status != exitDone || r.stderr != "" {
		t.Fatalf("status %d, stderr %q", r.status, r.stderr)
	}
	var report safety.Report
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.Place != dir || report.Engine != "host" || len(report.Uses) == 0 {
		t.Errorf("place %q, engine %q, %d uses", report.Place, report.Engine, len(report.Uses))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// TestCheckRefuses gives check what it can't check.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	needRun(t)
	state, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "file")
	mustDo(t, os.WriteFile(file, nil, 0o600))
	var said transcript
	for _, flags := range [][]string{
		{filepath.Join(dir, "missing")}, {file}, {dir, dir}, {"--engine", "dokcer"}, {"--place", "volume"}, {dir, "--engine", "oci", "--place", "layer"},
		{dir, "--share", "9p"}, {dir, "--kernel", "/vmlinuz"}, {"/proc"}, {"/sys/kernel"},
	} {
		args := append([]string{"check"}, flags...)
		said.add(args, plimsoll(t, t.Context(), state, "", args...))
	}
	said.check(t, "check-refuses.txt", golden.Text(dir, "DIR"), golden.Pattern(`check-[0-9a-f]{8}`, "check-ID"))
}

// TestCheckContainers checks volumes and folders of Docker and Podman: two containers and the host look at each other's work,
// and the folders keep all that a local file system promises. Nothing is left.
func TestCheckContainers(t *testing.T) {
	needRun(t)
	for name, d := range map[string]*dockertest.Daemon{"docker": dockertest.SharedDocker(t), "podman": dockertest.SharedPodman(t)} {
		api := findsDocker(t, d)
		for _, place := range []string{"volume", "bind", "layer"} {
			state, dir := t.TempDir(), t.TempDir()
			args := []string{"check", "--engine", "docker", "--place", place, "--json"}
			if place == "bind" {
				args = append(args, dir)
			}
			r := plimsoll(t, t.Context(), state, "", args...)
			if r.status != exitDone {
				t.Errorf("%s %s: status %d, %s", name, place, r.status, r.stderr)
				continue
			}
			var report safety.Report
			mustDo(t, json.Unmarshal([]byte(r.stdout), &report))
			asked := map[safety.Between]bool{}
			for _, f := range report.Findings {
				asked[f.Between] = true
				if (f.Key == "lock-posix" || f.Key == "shared-memory" || f.Key == "append") && f.Answer != safety.Yes {
					t.Errorf("%s %s: %+v", name, place, f)
				}
			}
			if want := place != "layer"; asked[safety.Containers] != want || asked[safety.Sides] != want {
				t.Errorf("%s %s: asked between %v", name, place, asked)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s %s: left in the folder: %v, %v", name, place, left, err)
			}
		}
		vs, err := api.VolumeList(t.Context(), client.VolumeListOptions{})
		if err != nil || len(vs.Items) > 0 {
			t.Errorf("%s: volumes left: %v, %v", name, vs.Items, err)
		}
	}
}
