package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

// An explainedPath is what the JSON of explain has of one path.
type explainedPath struct {
	Possible     bool
	Why, Instead string
	Hard         []struct {
		Name         string
		Major, Minor int
	}
	Modes []struct{ Name, Group string }
	Tree  json.RawMessage
}

// explainsOne is the JSON of explain of one path.
func (l limitLab) explainsOne(t *testing.T, status int, path string) explainedPath {
	t.Helper()
	text := l.do(t, status, "explain", path, "--json")
	var got struct{ Paths []explainedPath }
	// Other messages follow it.
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&got); err != nil || len(got.Paths) != 1 {
		t.Fatalf("explain %s: %v: %s", path, err, text)
	}
	return got.Paths[0]
}

// verdictOf is the verdict of verify by modes.
func verdictOf(t *testing.T, text string) map[string]string {
	t.Helper()
	begin, end := strings.Index(text, "["), strings.LastIndex(text, "]")
	var got []struct {
		Rows []struct{ Verdict, Mode string }
	}
	if begin < 0 || end < begin {
		t.Fatalf("no rows in %s", text)
	}
	if err := json.Unmarshal([]byte(text[begin:end+1]), &got); err != nil || len(got) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	modes := map[string]string{}
	for _, r := range got[0].Rows {
		modes[r.Mode] = r.Verdict
	}
	return modes
}

// proveRate sets a limit on what is written to a folder, and has verify prove in each of the modes that it holds. An emulated machine may
// be slower than the limit: a lower one is tried then, but one that doesn't hold fails the test. Below the lowest, verify refuses: its scratch file
// would take more than two minutes. It returns the limit that is set then.
func (l limitLab) proveRate(t *testing.T, name, dir string, modes ...string) (rate string) {
	t.Helper()
	left, text := modes, ""
	for _, rate = range []string{"1MiB", "256KiB", "64KiB", "40KiB"} {
		l.do(t, exitDone, "set", name, "--path", dir, "--write-bps", rate)
		r := l.run(t, "verify", name, "--path", dir, "--modes", strings.Join(left, ","), "--time", "3s", "--json")
		status := r.status
		text = r.stdout + r.stderr
		if status != exitDone && status != exitCannot {
			t.Fatalf("verify %s at %s: status %d: %s", dir, rate, status, text)
		}
		verdicts := verdictOf(t, r.stdout)
		left = slices.DeleteFunc(slices.Clone(left), func(m string) bool { return verdicts[m] == "held" })
		if len(left) == 0 {
			return rate
		}
		t.Logf("at %s verify says %v", rate, verdicts)
	}
	t.Errorf("not proved to hold: %v: %s", left, text)
	return rate
}

// measuredStacks are those on which verify measures: one of each way in which the kernel passes a write on. The others are of the same parts, and
// where the kernel charges what is written through each part is TestKernelMapper's and TestKernelMD's to show.
var measuredStacks = []string{"partition", "LVM thin", "LVM mirrored", "RAID 5", "LUKS on LVM"}

// TestLimitUnifiedStacks: on what the tools of administrators make of disks, the limit of a folder goes on the device right under
// the file system, on that alone, and is proved to hold there. The keeper restores it there.
func TestLimitUnifiedStacks(t *testing.T) {
	needRun(t)
	disktest.NewUnifiedGroup(t, "io", "memory") // Skips where there is none.
	for _, name := range measuredStacks {
		if !slices.ContainsFunc(disktest.Stacks, func(s disktest.Stack) bool { return s.Name == name }) {
			t.Errorf("there is no stack %s", name)
		}
	}
	for _, s := range disktest.Stacks {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel() // A limited process mostly waits.
			group, made := disktest.NewUnifiedGroup(t, "io", "memory"), s.New(t)
			number := disktest.Number(t, made.Limited)
			l := limitLab{target.Options{}, t.TempDir()}
			name := "cgroup:" + string(group)

			e := l.explainsOne(t, exitDone, made.Dir)
			if !e.Possible || len(e.Hard) != 1 || "/dev/"+e.Hard[0].Name != made.Limited {
				t.Errorf("explain: limits on %+v, want them on %s", e.Hard, made.Limited)
			}
			for _, d := range made.Disks {
				if !strings.Contains(string(e.Tree), `"name": "`+filepath.Base(d)+`"`) {
					t.Errorf("explain: no %s in %s", d, e.Tree)
				}
			}
			rate := "1MiB"
			if slices.Contains(measuredStacks, s.Name) {
				rate = l.proveRate(t, name, made.Dir, "direct", "buffered+fsync")
			} else {
				l.do(t, exitDone, "set", name, "--path", made.Dir, "--write-bps", rate)
			}
			text := kept(t, group, "io.max")
			if lines := strings.Split(text, "\n"); len(lines) != 1 || !strings.HasPrefix(text, number+" rbps=max wbps=") {
				t.Errorf("io.max has %q, want a limit of %s (%s) alone", text, made.Limited, number)
			}
			l.says(t, exitDone, []string{"write_bps=" + rate, filepath.Base(made.Limited)}, "show", name)
			// The node of what is on top means the same device.
			l.says(t, exitDone, []string{"unchanged"}, "set", name, "--device", made.Node, "--write-bps", rate)
			l.do(t, exitDone, "clear", name)
			if is := kept(t, group, "io.max"); is != "" {
				t.Errorf("cleared, io.max has %q", is)
			}
			keeps(t, group, made.Dir, number)
		})
	}
}
