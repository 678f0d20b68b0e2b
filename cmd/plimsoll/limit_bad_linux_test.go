package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/ceiling"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/internal/text/refusal"
)

// A badLab is a group with a limit on a disk, which bad input must leave as it is.
type badLab struct {
	limitLab
	group            disktest.Group
	name, loop, path string
}

func newBadLab(t *testing.T) badLab {
	t.Helper()
	return newBadLabOn(t, disktest.Options{Size: 1 << 30, Memory: true})
}

// newBadLabOn is newBadLab with a disk of that kind.
func newBadLabOn(t *testing.T, disk disktest.Options) badLab {
	t.Helper()
	needBlkio(t)
	l := badLab{limitLab: limitLab{target.Options{}, t.TempDir()}, group: disktest.NewBlkioGroup(t)}
	l.loop, l.path = disktest.Disk(t, disk)
	l.name = "cgroup:" + string(l.group)
	l.do(t, exitDone, "set", l.name, "--device", l.loop, "--write-bps", "1MiB", "--read-iops", "77")
	return l
}

// kernel is what the group's files have.
func (l badLab) kernel(t *testing.T) string {
	t.Helper()
	var all []string
	for _, f := range []string{"read_bps", "write_bps", "read_iops", "write_iops"} {
		b, err := os.ReadFile(filepath.Join(string(l.group), "blkio.throttle."+f+"_device"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(string(b)))
	}
	return strings.ReplaceAll(strings.Join(all, "|"), disktest.Number(t, l.loop)+" ", "")
}

// TestLimitBadValues: a value that can't be a limit is wrong usage, beside good ones too, and before a target is looked for: there is none
// here. Which values these are, and what is to be written instead, is package limit's TestAskRefuses.
func TestLimitBadValues(t *testing.T) {
	for _, row := range []struct {
		words string
		args  []string
	}{
		{"write_bps: 0 is not a limit", []string{"set", "nobody", "--read-bps", "5MiB", "--write-bps", "0"}},
		{"write_bps: 0 is not a limit", []string{"verify", "nobody", "--read-bps", "5MiB", "--write-bps", "0"}},
		{"write_iops: 1 is too little", []string{"set", "nobody", "--read-bps", "5MiB", "--write-iops=1"}},
		{"write_iops: 1 is too little", []string{"verify", "nobody", "--read-bps", "5MiB", "--write-iops=1"}},
		{"no limit is named", []string{"set", "nobody"}},
		{"did you mean write_bps", []string{"clear", "nobody", "--only", "write_bsp"}},
	} {
		r := plimsoll(t, t.Context(), t.TempDir(), "", append([]string{"limit"}, row.args...)...)
		if r.status != exitUsage {
			t.Errorf("%v: status %d, want %d: %s", row.args, r.status, exitUsage, r.stderr)
		}
		if !strings.Contains(r.stderr, row.words) {
			t.Errorf("%v: no %q in %s", row.args, row.words, r.stderr)
		}
	}
}

// TestLimitEnds: the least and the most that are taken are what the kernel then has.
func TestLimitEnds(t *testing.T) {
	l := newBadLab(t)
	l.do(t, exitDone, "set", l.name, "--device", l.loop, "--read-bps", "2", "--write-bps", "1PiB", "--read-iops", "2", "--write-iops", fmt.Sprint(uint32(math.MaxUint32-1)))
	if now := l.kernel(t); now != "2|1125899906842624|2|4294967294" {
		t.Errorf("the kernel has %q", now)
	}
	l.do(t, exitDone, "set", l.name, "--device", l.loop, "--read-bps", "4294967296")
	if now := l.kernel(t); now != "4294967296|1125899906842624|2|4294967294" {
		t.Errorf("2^32 bytes a second: the kernel has %q", now)
	}
	l.do(t, exitDone, "clear", l.name)
	if now := l.kernel(t); now != "|||" {
		t.Errorf("cleared: the kernel has %q", now)
	}
}

// TestLimitBadPlaces: devices and paths that can't be limited are refused with the reason and the fix, and nothing
// changes.
func TestLimitBadPlaces(t *testing.T) {
	l := newBadLab(t)
	before := l.kernel(t)
	parts := disktest.Partitions(t, l.loop)
	tmp := t.TempDir()
	file := filepath.Join(tmp, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	served := disktest.FUSE(t)
	for _, row := range []struct {
		status int
		words  []string
		args   []string
	}{
		{exitUsage, []string{"there is no device /dev/plimsoll-no-such (any more)", "such as /dev/sda"}, []string{"--device", "/dev/plimsoll-no-such"}},
		{exitUsage, []string{"/dev/null is not a block device"}, []string{"--device", "/dev/null"}},
		{exitUsage, []string{file + " is not a block device", "plimsoll limit explain " + file}, []string{"--device", file}},
		{exitCannot, []string{"data goes to the program that serves", "instead"}, []string{"--path", served}},
		{exitCannot, []string{"tmpfs", "instead"}, []string{"--path", "/dev/shm"}},
		{exitUsage, []string{"there is no " + filepath.Join(tmp, "nowhere") + " on this host"}, []string{"--path", filepath.Join(tmp, "nowhere")}},
		{exitUsage, []string{"there is no /plimsoll-no-such/typo on this host"}, []string{"--path", "/plimsoll-no-such/typo"}},
		{exitUsage, []string{"--device", "it is empty: give it a value"}, []string{"--device", ""}},
		{exitUsage, []string{"--volume", "it is empty"}, []string{"--volume="}},
		{exitUsage, []string{"--path", "it is empty"}, []string{"--path", ""}},
		{exitUsage, []string{"--path or --device"}, nil},
	} {
		text := l.do(t, row.status, append([]string{"set", l.name, "--write-bps", "2MiB", "--cpus", "0.5"}, row.args...)...)
		texttest.Has(t, text, row.words, row.args)
		if now := l.kernel(t); now != before {
			t.Errorf("%v: the kernel has %q, want %q", row.args, now, before)
		}
	}
	// A partition's limit goes on its disk, and that is said.
	text := l.do(t, exitDone, "set", l.name, "--device", parts[0], "--write-bps", "3MiB")
	if now := l.kernel(t); now != "|3145728|77|" || !strings.Contains(text, filepath.Base(l.loop)+" ("+disktest.Number(t, l.loop)+")") {
		t.Errorf("a partition: the kernel has %q; said %s", now, text)
	}
	for group, status := range map[string]int{"/plimsoll-no-such-group": exitFailure, "/": exitUsage} {
		if text := l.do(t, status, "set", "cgroup:"+group, "--device", l.loop, "--write-bps", "2MiB"); !strings.Contains(text, group) {
			t.Errorf("group %s: %s", group, text)
		}
	}
}

// TestLimitEmpty: a flag or an argument without text, as of a shell's variable that isn't set, is not taken for one that is left out,
// and all stays.
func TestLimitEmpty(t *testing.T) {
	l := newBadLab(t)
	before := l.kernel(t)
	for _, args := range [][]string{
		{"clear", l.name, "--device", ""}, {"clear", l.name, "--device="}, {"clear", l.name, "--volume", ""}, {"clear", l.name, "--path", ""},
		{"clear", l.name, "--only", ""}, {"clear", l.name, "--only", "read_bps", "--only", ""}, {"clear", ""},
		{"verify", l.name, "--device", ""}, {"verify", l.name, "--volume", ""}, {"verify", l.name, "--path", ""}, {"verify", ""},
		{"set", "", "--cpus", "1"}, {"set", l.name, "--write-bps", ""}, {"show", ""}, {"explain", ""}, {"explain", "/", ""},
		{"clear", l.name, "--path", "/plimsoll-no-such"}, {"verify", l.name, "--path", "/plimsoll-no-such"},
		{"hook", "--policy", ""}, {"hook", "--runtime", ""},
	} {
		l.do(t, exitUsage, args...)
		if now := l.kernel(t); now != before {
			t.Fatalf("%q: the kernel has %q, want %q", args, now, before)
		}
	}
	for _, args := range [][]string{{"watch", ""}, {"watch", "--once", ""}, {"daemon", "--import-blockio", ""}, {"daemon", "--check", "--policy", ""}} {
		if r := plimsoll(t, t.Context(), l.state, "", args...); r.status != exitUsage {
			t.Errorf("%q: status %d: %s%s", args, r.status, r.stdout, r.stderr)
		}
	}
	// The path of a process is looked for where its files are.
	me := fmt.Sprintf("pid:%d", os.Getpid())
	if text := l.do(t, exitUsage, "clear", me, "--path", "/plimsoll-no-such", "--dry-run"); !strings.Contains(text, "there is no /plimsoll-no-such in "+me) {
		t.Errorf("a process's path: %s", text)
	}
}

// TestLimitDies: a container that ends between the look and the write is reported by name, and nothing is written to a process that
// has its number.
func TestLimitDies(t *testing.T) {
	needBlkio(t)
	group := disktest.NewBlkioGroup(t)
	loop, _ := fastDisk(t)
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(end)
	if err := group.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	f := target.New(target.Options{})
	defer f.Close()
	h, err := hold.New(device.Host(), f)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := target.Parse(fmt.Sprintf("pid:%d", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Scope(t.Context(), ref, hold.Where{Device: loop}, true)
	if err != nil {
		t.Fatal(err)
	}
	end()
	var gone *target.GoneError
	if _, err := h.Apply(t.Context(), s, limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}); !errors.As(err, &gone) {
		t.Errorf("Apply() = %v, want that it is gone", err)
	}
	if b, err := os.ReadFile(filepath.Join(string(group), "blkio.throttle.write_bps_device")); err != nil || strings.TrimSpace(string(b)) != "" {
		t.Errorf("the group has %q, %v", b, err)
	}
}

// TestLimitNobody: without the right to write, each command says so with the file and what to run as, and nothing is
// left.
func TestLimitNobody(t *testing.T) {
	l := newBadLab(t)
	before := l.kernel(t)
	dir := nobodysFolder(t)
	// All else is his to use.
	state := filepath.Join(dir, "state")
	if err := errors.Join(os.Chmod(filepath.Dir(l.path), 0o755), os.Chmod(l.path, 0o777), os.Mkdir(state, 0o755), os.Chown(state, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	scheduler := disktest.Scheduler(t, l.loop)
	where := []string{"--device", l.loop}
	for _, row := range []struct {
		words []string
		args  []string
	}{
		{[]string{"blkio.throttle.write_bps_device: not permitted", "run as root"}, append([]string{"set", l.name, "--write-bps", "2MiB"}, where...)},
		{[]string{"not permitted", "run as root"}, []string{"clear", l.name}},
		{[]string{"queue/scheduler: not permitted", "run as root"}, append([]string{"set", l.name, "--weight", "200", "--enable-weights"}, where...)},
		{[]string{"cgroup.procs: permission denied", "run as root"}, []string{"verify", l.name, "--path", l.path, "--write-bps", "1MiB", "--modes", "direct", "--time", "3s"}},
	} {
		status, stdout, stderr := asNobody(t, dir, "", append(append([]string{"limit"}, row.args...), "--state", state)...)
		if status != exitFailure || strings.Count(stderr, "run as root") != 1 {
			t.Errorf("%v: status %d: %s%s", row.args, status, stdout, stderr)
		}
		texttest.Has(t, stderr, row.words, row.args)
		if now := l.kernel(t); now != before || disktest.Scheduler(t, l.loop) != scheduler {
			t.Errorf("%v: the kernel has %q, want %q", row.args, now, before)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(l.path, "plimsoll*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if left := journaltest.Entries(t, state); len(left) > 0 {
		t.Errorf("recorded, though nothing was changed: %v", left)
	}
}

// TestLimitStatus: the exit status differs for a feature that this machine lacks and for a failure.
func TestLimitStatus(t *testing.T) {
	for err, want := range map[error]int{
		&refusal.Error{Act: refusal.Limited, What: "a"}:         exitCannot,
		&cgroup.Fault{Err: cgroup.ErrNoController}:              exitCannot,
		&cgroup.Fault{Err: cgroup.ErrUnsupported}:               exitCannot,
		fmt.Errorf("container web: %w", cgroup.ErrNoController): exitCannot,
		fmt.Errorf("process 1: %w", cgroup.ErrRoot):             exitCannot,
		&hold.MissingError{}:                                    exitUsage,
		&cgroup.Fault{Err: syscall.EOPNOTSUPP}:                  exitCannot,
		fmt.Errorf("io: %w", hierarchy.ErrNone):                 exitCannot,
		&cgroup.Fault{Err: os.ErrPermission}:                    exitFailure,
		fmt.Errorf("container web: %w", cgroup.ErrGone):         exitFailure,
		errors.Join(errors.New("a"), &target.GoneError{}):       exitFailure,
	} {
		if got := statusOf(err); got != want {
			t.Errorf("%v: status %d, want %d", err, got, want)
		}
	}
}

// TestLimitPercent: a percentage is of what a real run has measured.
func TestLimitPercent(t *testing.T) {
	t.Parallel()                                                         // Its disk is its own.
	l := newBadLabOn(t, disktest.Options{Size: 256 << 20, Direct: true}) // A disk in memory is no measure of one.
	plan := "name: ceiling\nworkloads: {w: {rw: write, bs: 256KiB, iodepth: 4, direct: true, size: 16MiB, number_ios: 256}}\nengines: [host]\nplaces: {disk: {kind: dir, path: " + l.path + "}}\nblocks: 3\n"
	if r := plimsoll(t, t.Context(), l.state, plan, "run", "-"); r.status != exitDone {
		t.Fatalf("run: status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, l.state)
	var rates []float64 // Of the cell and its control, which are one.
	for _, trial := range trials {
		on, r, ok := ceiling.Rates(trial)
		if !ok || on.Name != filepath.Base(l.loop) || !strings.HasPrefix(on.Identity, "file /") {
			t.Fatalf("trial %+v says nothing of %s", trial.Key, l.loop)
		}
		if new(ceiling.Measured).Counts(trial, on, on) { // A busy machine's may be in doubt.
			rates = append(rates, r[1])
		}
	}
	slices.Sort(rates)
	most := stats.Median(rates)
	text := l.do(t, exitDone, "set", l.name, "--device", l.loop, "--write-bps", "25%", "--json")
	var got struct {
		Set   limit.Limits
		Notes []string
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if want := most / 4; math.Abs(float64(got.Set.WriteBPS)/want-1) > 0.001 || !strings.Contains(l.kernel(t), fmt.Sprint(got.Set.WriteBPS)) {
		t.Errorf("25 %% of %v is %d; the kernel has %s", most, got.Set.WriteBPS, l.kernel(t))
	}
	// The message names its subject.
	if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, "write_bps: 25% of ") || !strings.Contains(notes, "in I/Os of 256KiB") || strings.Contains(text, `"name": ""`) {
		t.Errorf("set --json: %s", text)
	}
	// Reads were not measured.
	if text := l.do(t, exitUsage, "set", l.name, "--device", l.loop, "--read-bps", "25%"); !strings.Contains(text, "plimsoll run measures it") {
		t.Errorf("reads: %s", text)
	}
	// Verify takes a percentage for the same number.
	l.do(t, exitDone, "set", l.name, "--device", l.loop, "--write-bps", "0.1%")
	asked, _ := l.judged(t, judge.Held, exitDone, []string{"held: asked"}, "verify", l.name, "--path", l.path, "--write-bps", "0.1%")
	if len(asked) != 1 || asked[0].Asked[limit.WriteBPS] < 2 || asked[0].Asked[limit.WriteBPS] != asked[0].Under[limit.WriteBPS] {
		t.Errorf("verify would measure %+v, want it against what is set", asked)
	}
}
