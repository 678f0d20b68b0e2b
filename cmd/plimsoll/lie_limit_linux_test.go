package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// needRates skips where the machine holds no rates of I/O, in neither version of control groups, and returns the version. The root of
// version 2 is made to give on what that takes.
func needRates(t *testing.T) (version int) {
	t.Helper()
	needRun(t)
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err == nil {
		return 1
	}
	disktest.NewUnifiedGroup(t, "io", "memory")
	return 2
}

// limitedPlan has workloads in a folder under one set of limits.
func limitedPlan(dir, workloads, limits string) string {
	return fmt.Sprintf("name: lie\nworkloads: {%s}\nengines: [host]\nplaces: {disk: {kind: dir, path: %s}}\nlimits: {some: {%s}}\nblocks: 1\n", workloads, dir, limits)
}

// limitRow runs a plan of one cell under limits and returns their only row, and the exit status.
func limitRow(t *testing.T, dir, workload, limits string) (report.LimitRow, int) {
	t.Helper()
	r, status := reportText(t, t.TempDir(), limitedPlan(dir, "w: {"+workload+"}", limits))
	if len(r.Limits) != 1 {
		t.Fatalf("%d rows of limits, want 1: %+v", len(r.Limits), r.Limits)
	}
	t.Logf("%s: %+v", r.Limits[0].Verdict, r.Limits[0])
	return r.Limits[0], status
}

// TestLieShortLimit: in a window of two slices a limiter lets half as much again through, which was "held".
func TestLieShortLimit(t *testing.T) {
	needRates(t)
	_, dir := disktest.Disk(t, disktest.Options{Size: 64 << 20, Memory: true})
	row, status := limitRow(t, dir, "rw: randread, bs: 4KiB, iodepth: 16, direct: true, size: 16MiB, runtime: 200ms", "read_iops: 500")
	if row.Verdict != judge.Unproved || row.Cause != judge.TooShort {
		t.Errorf("%s (%v), want it unproved and too short: %+v", row.Verdict, row.Cause, row)
	}
	texttest.Has(t, row.Why, []string{"in 200 ms up to"})
	if status != exitDone {
		t.Errorf("status %d, want %d", status, exitDone)
	}
}

// TestLieRaisedLimit: another program raises the limit in the middle of a trial.
func TestLieRaisedLimit(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	pattern, is, becomes := "blkio/plimsoll*/blkio.throttle.read_iops_device", " 100", " 400"
	if needRates(t) == 2 {
		pattern, is, becomes = "plimsoll*/io.max", " rbps=max wbps=max riops=100 ", " riops=400"
	}
	loop, dir := disktest.Disk(t, disktest.Options{Size: 64 << 20, Memory: true})
	over := make(chan bool)
	raised := make(chan int, 1)
	number := disktest.Number(t, loop)
	go func() {
		n := 0
		defer func() { raised <- n }()
		for {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond):
			}
			// The cell's and its control's, whose order is random.
			files, _ := filepath.Glob("/sys/fs/cgroup/" + pattern)
			for _, f := range files {
				if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), number+is) {
					time.Sleep(time.Second)
					if os.WriteFile(f, []byte(number+becomes), 0) == nil {
						n++
					}
				}
			}
		}
	}()
	row, status := limitRow(t, dir, "rw: randread, bs: 4KiB, iodepth: 16, direct: true, size: 16MiB, runtime: 4s", "read_iops: 100")
	close(over)
	if <-raised == 0 {
		t.Fatal("the limit was not raised")
	}
	if row.Verdict != judge.NotHeld || row.Error < 0.1 || status != exitNotHeld {
		t.Errorf("want it not held, with status %d: status %d, %+v", exitNotHeld, status, row)
	}
}

// TestLieLogTwice: a log's bytes were counted as writes and as commits.
func TestLieLogTwice(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	// An emulated processor, or a busy one, may not get to more.
	asked := "500kB"
	if needRates(t) == 2 {
		asked = "200kB"
	}
	_, dir := disktest.Disk(t, disktest.Options{Size: 128 << 20, Memory: true})
	row, status := limitRow(t, dir, "kind: wal, bs: 8192, runtime: 8s", "write_bps: "+asked)
	if row.Verdict == judge.NotHeld || row.Error > 0.05 {
		t.Errorf("%s, off by %v; want it no more than 5 %% above", row.Verdict, row.Error)
	}
	if row.Seen == 0 {
		t.Error("nothing was seen")
	}
	if status != exitDone {
		t.Errorf("status %d, want %d", status, exitDone)
	}
}

// TestLieNotHeldStatus: a run whose limit is not held ends with 4, also if trials failed.
func TestLieNotHeldStatus(t *testing.T) {
	needThrottle(t)
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	_, dir := disktest.Disk(t, disktest.Options{Size: 256 << 20, Memory: true})
	for _, row := range []struct{ more, words string }{
		{"", "NOT held: 1 of 1 limit"},
		{", fails: {kind: command, argv: [\"false\"]}", "NOT held: 1 of 1 limit; and 2 trials failed; the report says why"},
	} {
		r := plimsoll(t, t.Context(), t.TempDir(), limitedPlan(dir, "w: {rw: write, bs: 64KiB, size: 64MiB}"+row.more, "write_bps: 4MiB"), "run", "-")
		if r.status != exitNotHeld || !strings.Contains(lastLine(r.stderr), row.words) {
			t.Errorf("status %d, %q; want %d, %q", r.status, lastLine(r.stderr), exitNotHeld, row.words)
		}
	}
}

// writing is a shell's loop that writes to a file in a folder as dd does, with more options of dd's.
func writing(dir, options string) []string {
	return []string{"sh", "-c", "while :; do dd if=/dev/zero of=" + dir + "/theirs bs=1M count=16 " + options + " 2>/dev/null; done"}
}

// TestLieChildGroup: a process of a limited group writes from a group below it, which version 1 doesn't hold. Verify found the limit held,
// and show said nothing.
func TestLieChildGroup(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := newBadLab(t)
	l.do(t, exitDone, "set", l.name, "--path", l.path, "--write-bps", "8MiB", "--read-iops", "none")
	l.says(t, exitDone, []string{"a group that appears below", "has no limit (control groups of version 1): only plimsoll daemon"}, "set", l.name, "--path", l.path, "--write-bps", "8MiB")
	below := disktest.NewGroup(t, string(l.group))
	below.Run(t, writing(l.path, "oflag=direct")...)
	name := filepath.Base(string(below))
	verify := []string{"verify", l.name, "--path", l.path, "--modes", "direct", "--time", "3s"}
	l.says(t, exitNotHeld, []string{"elsewhere", "/" + name + ", which has no write_bps and did", "is not held", "plimsoll daemon with a policy holds those that come later"}, verify...)
	l.says(t, exitDone, []string{"is NOT held: ", "/" + name + ", which has no write_bps"}, "show", l.name)
	// Once it has the limit itself, it is said that there are two. As long as all processes are in it, they have the limit.
	many := " each for itself (control groups of version 1): together they may do 2 times as much"
	l.says(t, exitDone, []string{"version 1 limits each group by itself: the 2 groups of this target together may do 2 times as much"}, "set", l.name, "--path", l.path, "--write-bps", "8MiB")
	if _, text := l.judged(t, judge.Held, exitDone, nil, verify...); strings.Contains(text, "elsewhere") {
		t.Errorf("with the limit in the group below:\n%s", text)
	}
	// Then one writes in each, and together they do twice as much.
	l.group.Run(t, "sh", "-c", "while :; do dd if=/dev/zero of="+l.path+"/own bs=1M count=16 oflag=direct 2>/dev/null; done")
	text := l.says(t, exitNotHeld, []string{many, " the target's other groups')", "limit NOT held: asked 8 MiB/s, saw 1", " of its other groups",
		"hold each group for itself, and processes of ", "/" + name + " with 8 MiB/s", "fix: plimsoll limit set cgroup:", " --write-bps 4MiB", " gives each of the 2 groups there are now a part"}, verify...)
	if strings.Contains(text, "elsewhere") || strings.Contains(text, " others')") {
		t.Errorf("with the limit in both groups:\n%s", text)
	}
}

// TestLieAdviceReach: advice that would slow down others says so first, and none is given that would slow down the whole machine.
func TestLieAdviceReach(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := newBadLab(t)
	sub := filepath.Join(l.path, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	l.do(t, exitDone, "set", l.name, "--path", sub, "--write-bps", "8MiB", "--read-iops", "none")
	_, text := l.judged(t, judge.NotHeld, exitNotHeld, []string{"fix: " + filepath.Base(l.loop) + " has other data too: a limit for all writes to it slows down " + l.path + " as well; better give the data a volume with a device of its own"},
		"verify", l.name, "--path", sub, "--modes", "buffered")
	if !strings.Contains(text, "for all of them: plimsoll limit set ") {
		t.Errorf("no command: %s", text)
	}
	lim, err := (&app{targets: &l.targets}).newHolder()
	if err != nil {
		t.Fatal(err)
	}
	defer lim.Finder.Close()
	e, err := lim.Explain.Path("/")
	if err != nil {
		t.Fatal(err)
	}
	if !e.Possible {
		t.Logf("the machine's / takes no limits: %s", e.Why)
		return
	}
	if got := verify.DeviceWideAdvice(e, e.Hard[0].Name, "COMMAND"); !strings.Contains(got, "is the device of /") || !strings.Contains(got, "slows down the whole machine; better give the data a volume") || strings.Contains(got, "COMMAND") {
		t.Errorf("advice for the device of /: %q", got)
	}
}

// TestLieBusyTarget: the target itself uses its limit, so that next to nothing of the worker's comes through. That was "something else is
// slower: no more than 0 B/s", and took four times as long as was announced.
func TestLieBusyTarget(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := newBadLab(t)
	l.do(t, exitDone, "set", l.name, "--path", l.path, "--write-bps", "8MiB", "--read-iops", "none")
	before := disktest.Count(t, l.loop)
	for _, dir := range []string{l.path, filepath.Join(l.path, "more")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		l.group.Run(t, writing(dir, "conv=fsync")...) // Two, so that one waits for the limit while the other begins again.
	}
	for disktest.Count(t, l.loop).Since(before).BytesWritten < 16<<20 {
		time.Sleep(20 * time.Millisecond)
	}
	began := time.Now()
	r := l.run(t, "verify", l.name, "--path", l.path, "--modes", "direct", "--time", "3s")
	text := r.stdout + r.stderr
	t.Logf("status %d after %v:\n%s", r.status, time.Since(began), text)
	if !strings.Contains(text, ", from ") {
		t.Error("it isn't announced how long it may take")
	}
	if !strings.Contains(text, " of its write_bps of 8 MiB/s itself") {
		t.Error("it isn't announced that the target uses its limit")
	}
	// The announced time is kept, but for an end that waits for the limit.
	if most := time.Since(began); most > 2*time.Minute {
		t.Errorf("it took %v", most)
	}
	if !strings.Contains(text, "that the target itself used") && !strings.Contains(text, "of the announced") {
		t.Error("it isn't said how much of the limit the target used itself")
	}
	if strings.Contains(text, "NOT held") {
		t.Error("the sum is no more than the kernel let through")
	}
	if strings.Contains(text, "something else was slower") {
		t.Error("the limiter was at work all the time, and let the target's I/Os of 8 MiB through one by one")
	}
}

// TestLieLimitChanged: another program raises the limit while verify measures, for less than the first second, which no verdict is about. That was
// "held". That a row looks often enough is package row's TestWatch, and what it then says TestChanged.
func TestLieLimitChanged(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := newBadLab(t)
	l.do(t, exitDone, "set", l.name, "--path", l.path, "--write-bps", "8MiB", "--read-iops", "none")
	number := disktest.Number(t, l.loop)
	l.tried(t, func(r row.Request) []row.Row {
		for _, now := range []int64{8 << 20, 80 << 20, 8 << 20} {
			if err := l.group.Put("blkio.throttle.write_bps_device", number+" "+strconv.FormatInt(now, 10)); err != nil {
				t.Error(err)
			}
			if got, changed := r.Changed(limit.WriteBPS, row.Direct); changed != (now != 8<<20) || changed && got != now {
				t.Errorf("at %d: verify finds %d, changed: %v", now, got, changed)
			}
		}
		became := judgedRow(r, limit.WriteBPS, row.Direct, judge.Unproved)
		became.Cause, became.Changed = judge.Changed, []int64{80 << 20}
		became.Why = became.ChangedWords()
		return []row.Row{became}
	}, exitCannot, []string{"unproved: asked 8 MiB/s", "another program changed the limit while it was measured, to 80 MiB/s"}, "verify", l.name, "--path", l.path, "--modes", "direct")
}

// TestLieMovedMeanwhile: a process leaves the limited group once verify measures, writes from another group, and is back before the end. Verify looked
// before and after, and found it held.
func TestLieMovedMeanwhile(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := newBadLab(t)
	l.do(t, exitDone, "set", l.name, "--path", l.path, "--write-bps", "8MiB", "--read-iops", "none")
	for attempt := 1; !movedMeanwhile(t, l); attempt++ {
		if attempt == 3 {
			t.Fatal("three times the process was not away while verify measured")
		}
	}
}

// movedMeanwhile plants that lie, and reports whether it was one: on a busy machine the process may be away too late, or too briefly.
func movedMeanwhile(t *testing.T, l badLab) bool {
	t.Helper()
	other := disktest.NewBlkioGroup(t)
	left, back := filepath.Join(t.TempDir(), "left"), filepath.Join(t.TempDir(), "back")
	// It is elsewhere while the worker writes its second and its third 8 MB, and so for about two seconds of the window.
	cmd := l.group.Run(t, "sh", "-c", fmt.Sprintf("written() { awk '/^Total/ { print $2 }' %[1]s/blkio.throttle.io_service_bytes; }; first=$(written); until [ $(($(written) - first)) -ge 8000000 ]; do sleep 0.05; done; "+
		"echo 0 > %[2]s/cgroup.procs; touch %[4]s; until [ $(($(written) - first)) -ge 24000000 ]; do dd if=/dev/zero of=%[3]s/theirs bs=1M count=64 oflag=direct; sleep 0.2; done; "+
		"touch %[5]s; echo 0 > %[1]s/cgroup.procs; sleep 60", l.group, other, l.path, left, back))
	r := l.run(t, "verify", "pid:"+strconv.Itoa(cmd.Process.Pid), "--path", l.path, "--modes", "direct", "--time", "4s")
	_ = cmd.Process.Kill()
	gone, err := os.Stat(left)
	home, notBack := os.Stat(back)
	if err := errors.Join(err, notBack); err != nil {
		t.Log(err)
		return false
	}
	if away := home.ModTime().Sub(gone.ModTime()); away < time.Second {
		t.Logf("it was away for %v", away)
		return false
	}
	texttest.Has(t, r.stdout, []string{"elsewhere", "1 process of it is in the group /" + filepath.Base(string(other)) + ", which has no write_bps and did ", "fix: move the processes back"}, r.stderr)
	if r.status != exitNotHeld {
		t.Errorf("status %d, want %d", r.status, exitNotHeld)
	}
	return true
}
