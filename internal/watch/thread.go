package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Thread is one that waits for asynchronous I/O when a sample is taken.
//
// Pressure counts a task that sleeps for I/O of its own. One that submits I/O and then sleeps in io_getevents is not among them
// (read_events in the kernel's fs/aio.c), so that a libaio job which does nothing but wait shows a pressure of 0. A thread that
// sleeps in such a call in two samples, and ran for little in between, waited for the rest.
type Thread struct {
	// Ran is for how long it ran, or waited for a CPU, since it started.
	Ran time.Duration
}

// asyncWaits reads which threads of processes wait for asynchronous I/O.
func (s *Sampler) asyncWaits(processes map[int]Process) map[int]Thread {
	var out map[int]Thread
	for pid := range processes {
		for _, tid := range s.threads(pid) {
			dir := filepath.Join(s.fs.Proc, strconv.Itoa(pid), "task", strconv.Itoa(tid))
			b, err := s.read(filepath.Join(dir, "syscall"))
			if err != nil || !waitsForAsync(string(b)) {
				continue
			}
			if b, err = s.read(filepath.Join(dir, "schedstat")); err != nil {
				continue
			}
			ran, err := parseSchedstat(string(b))
			if err != nil {
				continue
			}
			if out == nil {
				out = map[int]Thread{}
			}
			out[tid] = Thread{ran}
		}
	}
	return out
}

// threads are those of a process.
func (s *Sampler) threads(pid int) (tids []int) {
	entries, err := os.ReadDir(filepath.Join(s.fs.Proc, strconv.Itoa(pid), "task"))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// waitsForAsync reports whether /proc/PID/task/TID/syscall shows a call that waits for completions: "208 0x7f.. 0x1 ...". A thread that
// runs shows "running".
func waitsForAsync(text string) bool {
	word, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(word)
	if err != nil {
		return false
	}
	switch n {
	case callGetevents, callPgetevents:
		return true
	case callUringEnter:
		// Its arguments are fd, to_submit, min_complete, ...: without a third it doesn't wait.
		f := strings.Fields(rest)
		return len(f) > 2 && f[2] != "0x0"
	}
	return false
}

// parseSchedstat reads /proc/PID/task/TID/schedstat: nanoseconds on a CPU, nanoseconds in its queue, and how often it ran
// (Documentation/scheduler/sched-stats.rst).
func parseSchedstat(text string) (time.Duration, error) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return 0, fmt.Errorf("schedstat: %q has fewer than 2 numbers", strings.TrimSpace(text))
	}
	ran, err := strconv.ParseInt(f[0], 10, 64)
	queued, err2 := strconv.ParseInt(f[1], 10, 64)
	if err != nil || err2 != nil {
		return 0, fmt.Errorf("schedstat: %q are no times", strings.TrimSpace(text))
	}
	return time.Duration(ran + queued), nil
}

// slept is for how many seconds of an interval the thread that waited longest for asynchronous I/O did. A thread counts that waited in
// both samples.
func slept(before, after map[int]Thread, seconds float64) float64 {
	most := 0.0
	for tid, a := range after {
		if b, was := before[tid]; was && a.Ran >= b.Ran {
			most = max(most, seconds-(a.Ran-b.Ran).Seconds())
		}
	}
	return most
}

// delayed adds up for how long threads have waited for I/O of their own since they started: delay accounting, field 42 of
// /proc/PID/task/TID/stat in clock ticks (Documentation/accounting/delay-accounting.rst). ok is false where the kernel doesn't count
// (kernel.task_delayacct=0, the default since Linux 5.14).
func (s *Sampler) delayed(processes map[int]Process) (all map[int]time.Duration, ok bool) {
	b, err := s.read(filepath.Join(s.fs.Proc, "sys/kernel/task_delayacct"))
	if err != nil || strings.TrimSpace(string(b)) != "1" {
		return nil, false
	}
	all = map[int]time.Duration{}
	for pid := range processes {
		for _, tid := range s.threads(pid) {
			b, err := s.read(filepath.Join(s.fs.Proc, strconv.Itoa(pid), "task", strconv.Itoa(tid), "stat"))
			if err != nil {
				continue
			}
			if d, err := parseDelay(string(b)); err == nil {
				all[tid] = d
			}
		}
	}
	return all, true
}

// parseDelay reads field 42 of a stat file, of which a second has 100 ticks (USER_HZ).
func parseDelay(text string) (time.Duration, error) {
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 40 {
		return 0, fmt.Errorf("%d fields are too few", len(f))
	}
	n, err := strconv.ParseInt(f[39], 10, 64)
	return time.Duration(n) * (time.Second / 100), err
}

// delayOf is for how many seconds the thread that was delayed most waited between two samples: the least for which at least one waited.
func delayOf(before, after map[int]time.Duration, seconds float64) float64 {
	most := 0.0
	for tid, a := range after {
		most = max(most, (a - before[tid]).Seconds())
	}
	return min(most, seconds)
}
