package fio

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// exiting is a job file. Its job quick ends after 200 ms; slow is in the same group, other in another group of that stage, and later in the next
// stage.
const exiting = `[global]
size=64k
rw=write
time_based
rate=64k
[slow]
runtime=800ms
[quick]
runtime=200ms
exitall
exit_what=WHAT
[other]
new_group
runtime=800ms
[later]
stonewall
runtime=200ms
`

// jobTimes are how long the jobs of an output took, in fifths of a second, by their names; a job without I/O is missing.
func jobTimes(t *testing.T, text string) map[string]int {
	t.Helper()
	times, name := map[string]int{}, ""
	for l := range strings.Lines(text) {
		if n, _, ok := strings.Cut(l, ": (groupid="); ok {
			name = n
		}
		if i := strings.LastIndex(l, "/"); i >= 0 && strings.HasPrefix(l, "  write: ") {
			ms, err := strconv.Atoi(l[i+1 : strings.Index(l, "msec")])
			if err != nil {
				t.Fatal(err)
			}
			times[name] = (ms + 100) / 200
		}
	}
	return times
}

// The end of a job ends the jobs that it ends in fio, and no others. Which jobs run, and roughly how long, is the same.
func TestExitWhatIsFios(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]map[string]int{
		"group":     {"slow": 1, "quick": 1, "other": 4, "later": 1},
		"stonewall": {"slow": 1, "quick": 1, "other": 1, "later": 1},
		"all":       {"slow": 1, "quick": 1, "other": 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for who, do := range map[string]func(*testing.T, string, ...string) string{"fio": peer, "ours": run} {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "e.fio"), []byte(strings.ReplaceAll(exiting, "WHAT", what)), 0o600); err != nil {
					t.Fatal(err)
				}
				got := jobTimes(t, do(t, dir, "e.fio"))
				// A busy machine ends jobs late: which ran, and which ran to their end, is what counts.
				for _, name := range []string{"slow", "quick", "other", "later"} {
					if got[name] > 0 != (want[name] > 0) || got[name] >= 4 != (want[name] >= 4) {
						t.Errorf("%s: %v, want %v", who, got, want)
						break
					}
				}
			}
		})
	}
}

// exitall in one job is one of all, and a job that never began is in the output as fio has it.
func TestExitallIsOfAllJobs(t *testing.T) {
	t.Parallel()
	args := []string{"--size=64k", "--rw=write", "--time_based", "--rate=64k", "--name=first", "--runtime=100ms", "--exit_what=all",
		"--name=second", "--runtime=60", "--exitall", "--exit_what=group", "--name=third", "--stonewall"}
	for _, format := range []string{"normal", "json"} {
		args := append([]string{"--output-format=" + format}, args...)
		fios, own := peer(t, t.TempDir(), args...), run(t, t.TempDir(), args...)
		if format == "normal" {
			a, b := shape(fios), shape(own)
			if strings.Join(a, "\n") != strings.Join(b, "\n") {
				t.Errorf("fio:\n%s\nours:\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
			continue
		}
		sameKeys(t, fios, own)
	}
	if _, err := Parse(append(args, "--startdelay=1", "--name=x", "--size=4k", "--exit_what=stonewall"), Source{}); err == nil || !strings.Contains(err.Error(), "startdelay") {
		t.Errorf("exit_what=stonewall beside a startdelay: %v", err)
	}
}

// sameKeys compares the keys of two JSON outputs, but those of disks and of Plimsoll's own.
func sameKeys(t *testing.T, fios, own string) {
	t.Helper()
	theirs, ours := map[string]string{}, map[string]string{}
	keys(t, fios, theirs)
	keys(t, own, ours)
	takeOwn(ours)
	for _, m := range []struct {
		who      string
		has, not map[string]string
	}{{"fio", theirs, ours}, {"ours", ours, theirs}} {
		for k, kind := range m.has {
			if m.not[k] != kind && !strings.HasPrefix(k, "/disk_util") {
				t.Errorf("only %s has %s (%s)", m.who, k, kind)
			}
		}
	}
}

// create_only makes the files of a job and does nothing else, beside jobs that do.
func TestCreateOnlyIsFios(t *testing.T) {
	t.Parallel()
	args := []string{"--size=64k", "--name=made", "--create_only=1", "--nrfiles=2", "--rw=write", "--name=done", "--rw=randwrite"}
	for _, format := range []string{"normal", "json"} {
		theirDir, ourDir := t.TempDir(), t.TempDir()
		args := append([]string{"--output-format=" + format}, args...)
		fios, own := peer(t, theirDir, args...), run(t, ourDir, args...)
		for _, name := range []string{"made.0.0", "made.0.1", "done.0.0"} {
			a, err := os.Stat(filepath.Join(theirDir, name))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := os.Stat(filepath.Join(ourDir, name)); err != nil || a.Size() != b.Size() {
				t.Errorf("%s: fio's has %d bytes, ours %v, %v", name, a.Size(), b, err)
			}
		}
		if format == "json" {
			sameKeys(t, fios, own)
			continue
		}
		if a, b := shape(fios), shape(own); strings.Join(a, "\n") != strings.Join(b, "\n") {
			t.Errorf("fio:\n%s\nours:\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
	}
	// Without leave to write, a file that exists keeps its data.
	dir := t.TempDir()
	name := filepath.Join(dir, "theirs")
	if err := os.WriteFile(name, make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "--name=a", "--filename=theirs", "--size=8k", "--rw=write", "--create_only=1")
	if data, err := os.ReadFile(name); err != nil || len(data) != 8192 || strings.Trim(string(data), "\x00") != "" {
		t.Errorf("it was changed: %d bytes, %v", len(data), err)
	}
}
