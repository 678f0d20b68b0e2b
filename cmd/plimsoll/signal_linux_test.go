package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/hist"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/texttest"
)

// children lists the child processes of pid.
func children(pid int) []int {
	var pids []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, w := range strings.Fields(string(b)) {
			if n, err := strconv.Atoi(w); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// readsOf is how many reads a process has asked the kernel for; -1 if it is gone.
func readsOf(pid int) int { return ioOf(pid, "syscr") }

// ioOf is one of a process's counters of proc_pid_io(5); -1 if it is gone.
func ioOf(pid int, key string) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(b), key+": ")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(line)
	if err != nil {
		return -1
	}
	return n
}

// measuring waits for a trial's own process, below one of the state folder's agents, that
// has read so often that it must be in the middle of its work. It returns 0 if none comes.
func measuring(dir string, reads int) int {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		for _, agent := range agents(dir) {
			for _, pid := range children(agent) {
				if readsOf(pid) >= reads {
					return pid
				}
			}
		}
	}
	return 0
}

// measuringFor waits until a trial's own process has lived for a while, a minute at most.
func measuringFor(dir string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, agent := range agents(dir) {
			if pids := children(agent); len(pids) > 0 {
				time.Sleep(2 * time.Second) // Its samples come every 1.
				if len(children(agent)) > 0 && children(agent)[0] == pids[0] {
					return
				}
			}
		}
	}
}

// over is how many of the latencies of h are longer than d.
func over(h *hist.Histogram, d time.Duration) (n int64) {
	for i, count := range h.All() {
		if hist.Value(i) > uint64(d) {
			n += int64(count)
		}
	}
	return n
}

// TestRunStoppedGenerator: the generator itself is stopped for a second of five in an open loop of 1,000 I/Os a second. The
// response times show it: the p99 is about 950 ms, and about 900 I/Os took more than 100 ms. The service times
// don't; a check says that the rate was not held, and the report what was offered and what was achieved.
func TestRunStoppedGenerator(t *testing.T) {
	t.Parallel()
	needRun(t)
	dir := t.TempDir()
	const rate, stop = 1000, time.Second
	plan := `
name: stopped
workloads: {open: {rw: randread, bs: 4KiB, iodepth: 4, size: 1MiB, runtime: 5s, rate_iops: ` + strconv.Itoa(rate) + `}}
engines: [host]
places: {dir: {}}
io_engine: psync
blocks: 1
`
	stopped := make(chan time.Duration, 1)
	go func() {
		pid := measuring(dir, 200)
		if pid == 0 || unix.Kill(pid, unix.SIGSTOP) != nil {
			stopped <- 0
			return
		}
		begin := time.Now()
		time.Sleep(stop)
		d := time.Since(begin)
		if unix.Kill(pid, unix.SIGCONT) != nil {
			d = 0
		}
		stopped <- d
	}()
	r := plimsoll(t, t.Context(), dir, plan, "run", "-")
	length := <-stopped
	if r.status != exitDone || length == 0 {
		t.Fatalf("status %d, stopped for %v; stderr:\n%s", r.status, length, r.stderr)
	}
	_, trials := records(t, dir)
	wantDone(t, trials, 2) // The baseline and its control, of which the first was stopped.
	tr := trials[0]
	res := tr.Results[0]
	c := res.Classes[0]
	response, service := time.Duration(c.Response.Percentile(99)), time.Duration(c.Lat.Percentile(99))
	// A fifth of the arrivals fell into the stop, and waited for its rest: the slowest hundredth of all for its last 5 %.
	if response < length*85/100 || response > 2*length+res.Elapsed/4 {
		t.Errorf("p99 of the response time is %v after a stop of %v", response, length)
	}
	waited := int64((length - 100*time.Millisecond).Seconds() * rate)
	if n := over(c.Response, 100*time.Millisecond); n+res.Missed < waited*9/10 {
		t.Errorf("%d I/Os were over 100 ms, want about %d", n, waited)
	}
	if service > response/2 {
		t.Errorf("p99 of the service time is %v, of the response time %v: four of %d I/Os were in flight", service, response, c.Ops)
	}
	due := int64(length.Seconds() * rate)
	if res.Late+res.Missed < due/2 || res.MaxLate < length/2 {
		t.Errorf("%d late by %v at most, %d missed, want about %d of them late by up to %v", res.Late, res.MaxLate, res.Missed, due, length)
	}
	found := false
	for _, w := range tr.Warnings {
		if w.Check != check.Rate {
			continue
		}
		found = true
		var e struct{ Arrivals, Late, Missed int64 }
		if err := json.Unmarshal(w.Evidence, &e); err != nil {
			t.Fatalf("evidence %s: %v", w.Evidence, err)
		}
		got := [...]int64{e.Arrivals, e.Late, e.Missed}
		if want := [...]int64{c.Ops + res.Missed, res.Late, res.Missed}; got != want {
			t.Errorf("the evidence has arrivals, late and missed %d, want %d", got, want)
		}
		if w.Severity != record.Doubt {
			t.Errorf("%s %q, want a doubt", w.Severity, w.Text)
		}
	}
	full := plimsoll(t, t.Context(), dir, "", "report", "last", "--full")
	show := plimsoll(t, t.Context(), dir, "", "results", "show", "last", "--trial", tr.Key, "--block", "1")
	texttest.Has(t, unwrap(full.stdout), []string{"open loop, 1,000 I/Os per second offered, ", " achieved; of ", " started late, at worst by ", "p99 of the response time ", ", of the service time "})
	texttest.Has(t, unwrap(show.stdout), []string{"1 k/s offered, ", " achieved; of ", "; response time p50 ", "; service time p50 "})
	if !found || !strings.Contains(unwrap(r.stdout), "The job did not keep its rate") {
		t.Errorf("no warning says that the job did not keep its rate: %+v\n%s", tr.Warnings, r.stdout)
	}
	checkClean(t, dir)
}

// TestRunLastWords: a trial that dies with words on its standard error keeps them, its
// error and how far it got; results show prints all three, and the other trials are done.
func TestRunLastWords(t *testing.T) {
	t.Parallel()
	needRun(t)
	for engine, place := range map[string]string{"host": "dir", "oci": "layer"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plan := `
name: words
workloads: {w: {rw: randread, bs: 4KiB, size: 1MiB, runtime: 1s}}
engines: [` + engine + `]
places: {` + place + `: {}}
io_engine: psync
blocks: 2
`
			hit := make(chan int, 1)
			go func() {
				pid := measuring(dir, 5000)
				time.Sleep(200 * time.Millisecond) // For a sample or two.
				// Go's runtime ends a process so, with a picture of its threads.
				if pid != 0 && unix.Kill(pid, unix.SIGQUIT) != nil {
					pid = 0
				}
				hit <- pid
			}()
			r := plimsoll(t, t.Context(), dir, plan, "run", "-")
			if pid := <-hit; r.status != exitCellsFailed || pid == 0 {
				t.Fatalf("status %d, process %d; stderr:\n%s", r.status, pid, r.stderr)
			}
			run, trials := records(t, dir)
			var failed, done []record.Trial
			for _, tr := range trials {
				if tr.Status == record.Failed {
					failed = append(failed, tr)
				} else {
					done = append(done, tr)
				}
			}
			wantDone(t, done, 3)
			if len(failed) != 1 {
				t.Fatalf("%d trials failed, want 1", len(failed))
			}
			f := failed[0]
			if f.Phase != "run" {
				t.Errorf("failed in %q, want run", f.Phase)
			}
			texttest.Has(t, f.Error, []string{"exit status 2"}, "the error")
			texttest.Has(t, f.Log, []string{"goroutine "}, "the log")
			texttest.Has(t, f.Progress, []string{"operations and"}, "the progress")
			lines := strings.Split(strings.TrimRight(f.Log, "\n"), "\n")
			show := plimsoll(t, t.Context(), dir, "", "results", "show", run.ID)
			for _, want := range append([]string{f.Error, f.Progress}, lines...) {
				// Tabs are shown as spaces; what counts are the words.
				if !strings.Contains(unwrap(show.stdout), unwrap(want)) {
					t.Errorf("results show lacks %q:\n%s", want, show.stdout)
					break
				}
			}
			if !strings.Contains(unwrap(r.stdout), "exit status 2") {
				t.Errorf("the report doesn't say why:\n%s", r.stdout)
			}
			checkClean(t, dir)
		})
	}
}
