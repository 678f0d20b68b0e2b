package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/selfcheck"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// stalledRun runs a plan's workload in a place on a slow file system, in a window of 300 ms or with what the workload itself says, and returns its
// only trial, which has to be done.
func stalledRun(t *testing.T, fs *disktest.SlowFS, workload, more string) (record.Trial, string) {
	t.Helper()
	trial, report, said := tryStalled(t, fs, workload, more)
	if said != "" {
		t.Fatal(said)
	}
	return trial, report
}

// tryStalled is stalledRun, which says why a trial is not done.
func tryStalled(t *testing.T, fs *disktest.SlowFS, workload, more string) (trial record.Trial, report, said string) {
	t.Helper()
	plan := fmt.Sprintf("name: stalled\nworkloads:\n  w: %s\nengines: [host]\nplaces: {dir: {path: %s}}\nblocks: 1\n%s", workload, fs.Dir, more)
	dir := t.TempDir()
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	_, trials := records(t, dir)
	// After a trial whose storage hangs, the run may fail.
	switch {
	case fs.Left() > 0:
		said = fmt.Sprintf("%d stalls left", fs.Left())
	case len(trials) == 0:
		said = "no trial"
	case trials[0].Status != record.Done:
		said = "the trial is " + string(trials[0].Status)
	case r.status != exitDone && trials[0].Results[0].AtLeast() == 0:
		said = "no operation hangs"
	}
	if said != "" {
		return record.Trial{}, "", fmt.Sprintf("status %d, %s: %s%s", r.status, said, r.stdout, r.stderr)
	}
	return trials[0], plimsoll(t, t.Context(), dir, "", "report", "last", "--full").stdout, ""
}

// stallsAtOnce is how many tests of stalls run at once: their processes wait, but for a few hundred I/Os a second.
const stallsAtOnce = 3

// stallWindow is a window that is stalled, and stallFrom when near its end: on a busy machine an I/O has to begin in between.
const (
	stallWindow = 600 * time.Millisecond
	stallFrom   = 450 * time.Millisecond
)

// A windowEnd is a stall that goes beyond the end of a window.
type windowEnd struct {
	name  string
	stall disktest.Stall // Its operation is the workload's.
	// base is how long the workload's other operations of that kind take.
	base time.Duration
	// say is in the report.
	say string
}

// windowEnds are a stall that begins near the end of the window and is longer than all of that, one without an end, and one of the first operation.
func windowEnds() []windowEnd {
	return []windowEnd{
		{"at-the-end", disktest.Stall{At: stallFrom, For: 2 * time.Second}, time.Millisecond, "The last operation of the window"},
		{"for-ever", disktest.Stall{At: stallFrom, For: disktest.Endless}, time.Millisecond, "The storage hung: "},
		{"all-of-it", disktest.Stall{For: 2 * time.Second}, time.Millisecond, "The figure rests on 1 operation"},
	}
}

// run runs a workload with the stall, and more lines of a plan, in a place whose files that match are stalled. The latency has to be in the trial's
// class, and right says what is wrong with that class and the window.
func (e windowEnd) run(t *testing.T, workload, more string, match func(name string, size int) bool, right func(load.Class, time.Duration) string) {
	t.Helper()
	// On a machine that others use, so much of the window may pass by that next to nothing is begun in it: three are tried.
	var said string
	for range 3 {
		if said = e.try(t, workload, more, match, right); said == "" {
			return
		}
		t.Log(said)
	}
	t.Error(said)
}

// try is one run, and says what is wrong with it.
func (e windowEnd) try(t *testing.T, workload, more string, match func(name string, size int) bool, right func(load.Class, time.Duration) string) string {
	t.Helper()
	fs := disktest.NewSlowFS(t, false)
	fs.Match = match
	fs.Plan(map[string]time.Duration{e.stall.Op: e.base}, e.stall)
	endless := e.stall.For == disktest.Endless
	if endless {
		more += "timeout: 5s\n"
		// Whatever else waits for that file, such as its removal, goes on when the trial is over.
		go func() {
			for fs.Left() > 0 && t.Context().Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(6 * time.Second)
			fs.Release()
		}()
	}
	trial, report, said := tryStalled(t, fs, workload, more)
	if said != "" {
		return said
	}
	one := trial.Results[0]
	class := one.Classes[0]
	if trial.Value <= 0 || (class.AtLeast > 0) != endless || class.Lat.Max() < int64(1900*time.Millisecond) {
		return fmt.Sprintf("%v a second, %d in flight, %d of them for ever, at most %v", trial.Value, class.InFlight, class.AtLeast, time.Duration(class.Lat.Max()))
	}
	if !strings.Contains(report, e.say) {
		return fmt.Sprintf("the report does not say %q:\n%s", e.say, report)
	}
	return right(class, one.Elapsed)
}

// TestLieStallNamed stalls an operation of append, wal and tree near the end of their runtime, for longer than that and for ever, and the
// first one for all of it: the rate is that of the window, and the latency counts.
func TestLieStallNamed(t *testing.T) {
	needRun(t)
	t.Parallel() // It waits for its stalls, and its file systems are its own.
	var tests []subtest
	for _, w := range []struct{ name, spec, op, file string }{
		{"append", "{kind: append, runtime: 600ms}", "write", "append.log"},
		{"wal", "{kind: wal, runtime: 600ms}", "sync", "wal.log"},
		{"tree", "{kind: tree, count: 20, bs: 4KiB, runtime: 600ms}", "read", "f0"},
	} {
		for _, e := range windowEnds() {
			e.stall.Op = w.op
			tests = append(tests, subtest{w.name + "/" + e.name, func(t *testing.T) {
				match := func(name string, _ int) bool { return strings.HasPrefix(name, w.file) }
				e.run(t, w.spec, "", match, func(class load.Class, elapsed time.Duration) string {
					right := elapsed == stallWindow && class.InFlight == 1 && class.Ops >= 2 // Those before the stall, of which a busy machine does few.
					if e.stall.At == 0 {
						right = elapsed >= 1900*time.Millisecond && class.InFlight == 0 && class.Ops == 1
					}
					if right {
						return ""
					}
					return fmt.Sprintf("%d operations in %v, and %d in flight", class.Ops, elapsed, class.InFlight)
				})
			}})
		}
	}
	abreast(t, stallsAtOnce, tests)
}

// TestLieStallClients stalls one I/O of one of two clients at the end of their window: it is in that client's latencies and in what is said of both.
func TestLieStallClients(t *testing.T) {
	needRun(t)
	t.Parallel() // It waits for its stalls, and its file systems are its own.
	fs := disktest.NewSlowFS(t, false)
	fs.Match = func(name string, size int) bool { return strings.HasPrefix(name, "block-") && size == 4096 }
	fs.Plan(map[string]time.Duration{"write": time.Millisecond}, disktest.Stall{Op: "write", At: 250 * time.Millisecond, For: 2 * time.Second})
	trial, report := stalledRun(t, fs, "{rw: randwrite, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, runtime: 300ms}", "clients: 2\n")
	var stalled int
	for _, one := range trial.Results {
		if one.Elapsed != 300*time.Millisecond || one.InFlight() == 0 || one.Ops() < 10 {
			t.Errorf("%d I/Os in %v, and %d in flight", one.Ops(), one.Elapsed, one.InFlight())
		}
		if one.Classes[0].Lat.Max() > int64(1900*time.Millisecond) {
			stalled++
		}
	}
	if len(trial.Results) != 2 || stalled != 1 || !strings.Contains(report, "The last operation of the window") {
		t.Errorf("%d clients, %d of them stalled:\n%s", len(trial.Results), stalled, report)
	}
}

// TestLieStallSteady stalls an I/O across the end of the last round of a job with a steady state: it is in the latencies of the rounds that count.
func TestLieStallSteady(t *testing.T) {
	needRun(t)
	t.Parallel() // It waits for its stalls, and its file systems are its own.
	var tests []subtest
	for _, engine := range []string{"io_uring", "psync"} {
		tests = append(tests, subtest{engine, func(t *testing.T) {
			fs := disktest.NewSlowFS(t, false)
			fs.Match = func(name string, size int) bool { return strings.HasPrefix(name, "block-") && size == 4096 }
			fs.Plan(map[string]time.Duration{"write": time.Millisecond}, disktest.Stall{Op: "write", At: 900 * time.Millisecond, For: 2 * time.Second})
			trial, report := stalledRun(t, fs,
				"{rw: randwrite, bs: 4KiB, iodepth: 2, direct: true, size: 1MiB, runtime: 1s, steady_state: {round: 200ms}}", "io_engine: "+engine+"\n")
			one := trial.Results[0]
			class := one.Classes[0]
			if r := one.Rounds; r == nil || r.From != 0 || r.To != 5 {
				t.Errorf("rounds %+v, want 0 to 5", r)
			}
			if class.InFlight == 0 || class.Ops < 10 {
				t.Errorf("%d I/Os, %d in flight", class.Ops, class.InFlight)
			}
			if most := time.Duration(class.Lat.Max()); most < 1900*time.Millisecond {
				t.Errorf("at most %v, want the stall", most)
			}
			if one.Elapsed < 900*time.Millisecond || one.Elapsed > 1500*time.Millisecond {
				t.Errorf("a window of %v, want about 1 s", one.Elapsed)
			}
			if !strings.Contains(report, "The last operation of the window") {
				t.Errorf("the report does not say it:\n%s", report)
			}
		}}, subtest{engine + "/all-of-it", func(t *testing.T) {
			fs := disktest.NewSlowFS(t, false)
			fs.Match = func(name string, size int) bool { return strings.HasPrefix(name, "block-") && size == 4096 }
			fs.Plan(nil, disktest.Stall{Op: "write", For: 2 * time.Second})
			trial, report := stalledRun(t, fs,
				"{rw: randwrite, bs: 4KiB, iodepth: 1, direct: true, size: 1MiB, runtime: 1s, steady_state: {round: 200ms}}", "io_engine: "+engine+"\n")
			one := trial.Results[0]
			if class := one.Classes[0]; class.Ops != 1 || one.Elapsed < 1900*time.Millisecond || class.Lat.Max() < int64(1900*time.Millisecond) {
				t.Errorf("%+v: %d I/Os in %v, at most %v", one.Rounds, class.Ops, one.Elapsed, time.Duration(class.Lat.Max()))
			}
			if !strings.Contains(report, "The figure rests on 1 operation") {
				t.Errorf("the report does not say it:\n%s", report)
			}
		}})
	}
	abreast(t, stallsAtOnce, tests)
}

// TestLieStallLine stalls the first I/O of a line of fio, and of a job of the self-check, for longer than the window: both have figures, as fio does.
func TestLieStallLine(t *testing.T) {
	needRun(t)
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is needed")
	}
	t.Parallel() // It waits for its stalls, and its file systems are its own.
	const stall = 1500 * time.Millisecond
	// stallable is a file, and what stalls the first of its operations of a kind.
	stallable := func(t *testing.T) (path string, plan func(op string)) {
		fs := disktest.NewSlowFS(t, false)
		return filepath.Join(fs.Dir, "file"), func(op string) {
			mustDo(t, os.WriteFile(filepath.Join(fs.Back, "file"), make([]byte, 1<<20), 0o644))
			fs.Plan(nil, disktest.Stall{Op: op, For: stall})
		}
	}
	abreast(t, 3, []subtest{{"fio", func(t *testing.T) {
		path, plan := stallable(t)
		args := strings.Fields("--name=a --rw=randwrite --bs=4k --size=1m --direct=1 --ioengine=psync --norandommap --time_based --runtime=300ms --output-format=json --lat_percentiles=1 --filename=" + path)
		plan("write")
		out, err := exec.Command("fio", append(args, "--thread")...).CombinedOutput()
		if err != nil {
			t.Fatalf("fio: %v: %s", err, out)
		}
		theirs, total := fioLatency(t, out, "write")
		plan("write")
		r := plimsoll(t, t.Context(), t.TempDir(), "", append([]string{"fio", "--destructive", path}, args...)...)
		if r.status != exitDone {
			t.Fatalf("it ended with %d: %s", r.status, r.stderr)
		}
		ours, n := fioLatency(t, []byte(r.stdout), "write")
		if n != 1 || total != 1 {
			t.Errorf("%d I/Os, fio %d; want 1", n, total)
		}
		if ours.Max < stall.Nanoseconds() || theirs.Max < stall.Nanoseconds() {
			t.Errorf("at most %v, fio %v; want %v", time.Duration(ours.Max), time.Duration(theirs.Max), stall)
		}
	}}, {"only write", func(t *testing.T) {
		path, plan := stallable(t)
		// Reads are complete in the window, and the only write is not.
		args := strings.Fields("--name=a --rw=randrw --bs=4k --size=1m --direct=1 --ioengine=io_uring --iodepth=4 --norandommap --time_based --runtime=300ms --rate_iops=100,1 --output-format=json,normal --lat_percentiles=1 --filename=" + path)
		plan("write")
		out, err := exec.Command("fio", append(args, "--thread")...).CombinedOutput()
		if err != nil {
			t.Fatalf("fio: %v: %s", err, out)
		}
		plan("write")
		r := plimsoll(t, t.Context(), t.TempDir(), "", append([]string{"fio", "--destructive", path}, args...)...)
		if r.status != exitDone {
			t.Fatalf("it ended with %d: %s", r.status, r.stderr)
		}
		for name, text := range map[string]string{"fio": string(out), "plimsoll": r.stdout} {
			lat, _ := fioLatency(t, []byte(text[strings.Index(text, "{\n"):strings.LastIndex(text, "\n}")+2]), "write")
			if lat.Max < stall.Nanoseconds() || !strings.Contains(text, "  write: IOPS=") {
				t.Errorf("%s: at most %v: %s", name, time.Duration(lat.Max), text)
			}
		}
	}}, {"selfcheck", func(t *testing.T) {
		path, plan := stallable(t)
		c := selfcheck.Case{Name: "stalled", Job: load.Job{
			RW: load.RandRead, BS: 4096, IODepth: 1, IOEngine: load.PSync, Direct: true, Size: 1 << 20, Filename: path, Runtime: 300 * time.Millisecond,
		}}
		for name, program := range map[string]selfcheck.Program{
			"plimsoll": selfcheck.Ours([]string{"env", asPlimsoll + "=1", os.Args[0], "selfcheck", "--child"}, nil), "fio": selfcheck.Fio("fio", nil),
		} {
			plan("read")
			got, err := program(t.Context(), c)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got.IOPS <= 0 || got.IOPS > 1 {
				t.Errorf("%s: %v IOPS, want no more than 1", name, got.IOPS)
			}
			if got.Mean < float64(stall) {
				t.Errorf("%s: a mean of %v, want %v at least", name, time.Duration(got.Mean), stall)
			}
		}
	}}})
}

// TestLieMissed stalls the only I/O in flight of an open loop, up to and beyond the window's end: those that were due meanwhile are missed, and what
// was done, was in flight and is missed are all that was due. fio leaves them out without a word.
func TestLieMissed(t *testing.T) {
	needRun(t)
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("fio is needed")
	}
	const rate, window, from = 400, 500 * time.Millisecond, 300 * time.Millisecond
	fs := disktest.NewSlowFS(t, false)
	path := filepath.Join(fs.Dir, "file")
	args := strings.Fields(fmt.Sprintf("--name=a --rw=randwrite --bs=4k --size=1m --direct=1 --ioengine=psync --norandommap --time_based --runtime=%dms --rate_iops=%d --output-format=json --lat_percentiles=1 --filename=%s",
		window.Milliseconds(), rate, path))
	plan := func() {
		if err := os.WriteFile(filepath.Join(fs.Back, "file"), make([]byte, 1<<20), 0o644); err != nil {
			t.Fatal(err)
		}
		fs.Plan(nil, disktest.Stall{Op: "write", At: from, For: time.Second})
	}
	plan()
	out, err := exec.Command("fio", append(args, "--thread")...).CombinedOutput()
	if err != nil {
		t.Fatalf("fio: %v: %s", err, out)
	}
	_, theirs := fioLatency(t, out, "write")
	plan()
	dir := t.TempDir()
	r := plimsoll(t, t.Context(), dir, "", append([]string{"fio", "--destructive", path}, args...)...)
	if r.status != exitDone || fs.Left() > 0 {
		t.Fatalf("it ended with %d, %d stalls left: %s", r.status, fs.Left(), r.stderr)
	}
	var doc struct {
		Jobs []struct {
			OpenLoop struct {
				Missed int64 `json:"missed_ios"`
			} `json:"open_loop"`
			Write struct {
				Response struct {
					Max int64
				} `json:"response_ns"`
			}
		}
	}
	if err := json.Unmarshal([]byte(r.stdout[strings.IndexByte(r.stdout, '{'):]), &doc); err != nil || len(doc.Jobs) != 1 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	_, ours := fioLatency(t, []byte(r.stdout), "write")
	due := int64(rate * window.Seconds())
	missed, most := doc.Jobs[0].OpenLoop.Missed, time.Duration(doc.Jobs[0].Write.Response.Max)
	t.Logf("fio did %d, plimsoll %d and missed %d of %d; response %v at most", theirs, ours, missed, due, most)
	// From the stall's begin on nothing could be started, which may be later than planned by what a busy machine takes.
	if sum := ours + missed; sum < due-2 || sum > due+2 {
		t.Errorf("%d done and %d missed of %d", ours, missed, due)
	}
	if missed < due/10 {
		t.Errorf("%d missed of %d", missed, due)
	}
	if most < 900*time.Millisecond {
		t.Errorf("response %v at most", most)
	}
	if theirs > due-due/10 {
		t.Errorf("fio did %d of %d: the stall did not hold it up", theirs, due)
	}
	if !strings.Contains(r.stderr, "The job did not keep its rate: ") || !strings.Contains(r.stderr, "never") {
		t.Errorf("no doubt: %s", r.stderr)
	}
}
