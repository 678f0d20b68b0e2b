// Package leaktest finds what a test left on the host: mounts, loop devices and
// cgroups, told apart from everybody else's by a mark in their names.
package leaktest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Check fails t at its end if anything marked with one of marks is still there:
// a part of a path, such as a test's own temporary folder or a session's ID.
// Engines remove some things after the process that they belong to, so it looks
// for up to five seconds.
func Check(t testing.TB, marks ...string) {
	t.Helper()
	t.Cleanup(func() {
		deadline := time.Now().Add(5 * time.Second)
		for {
			left := Find(marks...)
			if len(left) == 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// Find lists what is marked with one of marks.
func Find(marks ...string) []string {
	var found []string
	note := func(kind, what string) {
		for _, m := range marks {
			if strings.Contains(what, m) {
				found = append(found, kind+" "+what)
				return
			}
		}
	}
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			note("mount", strings.TrimSpace(line))
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, l := range loops {
		if b, err := os.ReadFile(l); err == nil {
			note("loop device", l+" "+strings.TrimSpace(string(b)))
		}
	}
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			note("cgroup", path)
		}
		return nil
	})
	return found
}
