// Package leaktest finds things that a test left on the host: mounts, loop devices and cgroups. A mark in their names distinguishes
// them from those of other programs.
package leaktest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Check fails t at its end if anything marked with one of marks still exists. A mark is a part of a path, such as a test's own
// temporary folder or a session's id. Engines remove some things after the end of the process that they belong to, so Check looks
// for up to a minute.
func Check(t testing.TB, marks ...string) {
	t.Helper()
	t.Cleanup(func() {
		deadline := time.Now().Add(time.Minute)
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

// Find lists the things that are marked with one of marks.
func Find(marks ...string) []string {
	return slices.DeleteFunc(All(), func(what string) bool { return !marked(what, marks) })
}

// All lists every mount of this process, loop device with a file, and cgroup, each in a line.
func All() []string {
	var all []string
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			all = append(all, "mount "+strings.TrimSpace(line))
		}
	}
	loops, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, l := range loops {
		if b, err := os.ReadFile(l); err == nil {
			all = append(all, "loop device "+l+" "+strings.TrimSpace(string(b)))
		}
	}
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, "cgroup "+path)
		}
		return nil
	})
	return all
}

// others marks things that other processes make and remove meanwhile: tests of other packages, their daemons and runs, and systemd's
// units.
var others = []string{"/Test", "plimsoll", ".service", ".scope", ".slice", " /run/user/"}

// New lists the things that exist now and were not in before, an earlier result of All. It is for things without a mark, such as a
// control group or a mount whose name a runtime chose. It leaves out the things of others, unless they have a mark in own.
func New(before []string, own ...string) []string {
	known := make(map[string]bool, len(before))
	for _, b := range before {
		known[b] = true
	}
	return slices.DeleteFunc(All(), func(what string) bool {
		return known[what] || marked(what, others) && !marked(what, own)
	})
}

// marked reports whether one of marks is a part of what. A number at a mark's end must be a whole number: group 10, another test's,
// does not match group 1.
func marked(what string, marks []string) bool {
	return slices.ContainsFunc(marks, func(m string) bool {
		for rest := what; m != ""; {
			var found bool
			if _, rest, found = strings.Cut(rest, m); !found {
				return false
			}
			if rest == "" || !digit(rest[0]) || !digit(m[len(m)-1]) {
				return true
			}
		}
		return false
	})
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
