package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/provide/volume"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/text/clean"
)

// volumeLine finds the examples about volumes, which need some.
var volumeLine = regexp.MustCompile(`^(ls \$\()?plimsoll volume (create|ls|inspect|update|rm|restore|mount|unmount)\b`)

// TestManualVolumes executes the manual's and the help's examples about volumes, each with the volumes that it needs.
func TestManualVolumes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	_, disk := disktest.Disk(t, disktest.Options{Kind: "xfs", Size: 2 << 30, Memory: true})
	state, dir := filepath.Join(disk, "state"), t.TempDir()
	s := volume.New(state)
	self, err := filepath.Abs(os.Args[0])
	mustDo(t, err)
	writeProgram(t, filepath.Join(dir, "plimsoll"), fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\" --state %s\n", asPlimsoll, clean.Shell(self), clean.Shell(state)))
	n := 0
	for _, line := range examples(t) {
		if !volumeLine.MatchString(line) {
			continue
		}
		n++
		prepareVolumes(t, s, line)
		sh := exec.CommandContext(t.Context(), "sh", "-c", line)
		sh.Dir, sh.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		if out, err := sh.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		list, err := s.List()
		mustDo(t, err)
		for _, v := range list {
			mustDo(t, s.Unmount(t.Context(), v.Name, volume.ByHand))
			mustDo(t, s.Remove(t.Context(), v.Name, true))
		}
		_, err = s.Empty(t.Context(), true)
		mustDo(t, err)
	}
	if n < 10 {
		t.Errorf("only %d examples were found", n)
	}
}

// prepareVolumes makes the volumes that an example uses.
func prepareVolumes(t *testing.T, s *volume.Volumes, line string) {
	t.Helper()
	if strings.Contains(line, "volume create") {
		return
	}
	for _, name := range []string{"db", "logs"} {
		where, p, err := s.Options(map[string]string{"capacity": "64MiB"})
		mustDo(t, err)
		_, _, err = s.Create(t.Context(), name, where, p)
		mustDo(t, err)
		switch {
		case strings.Contains(line, "restore"):
			mustDo(t, s.Remove(t.Context(), name, false))
		case strings.Contains(line, "unmount"):
			_, err := s.Mount(t.Context(), name, volume.ByHand)
			mustDo(t, err)
		}
	}
}
