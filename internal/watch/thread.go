package watch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Thread is a thread that waits for asynchronous I/O at the time of a sample.
//
// Pressure counts tasks that sleep for their own I/O. A task that submits I/O and then sleeps in io_getevents doesn't
// count (read_events in the kernel's fs/aio.c), so a libaio job that does nothing but wait shows a pressure of 0. A
// thread that sleeps in such a call in two samples, and ran for little in between, waited for the rest.
type Thread struct {
	// Ran is how long it has run, or waited for a CPU, since it started.
	Ran time.Duration
	// Loop is set if it waits for events (epoll, poll, select, an eventfd), in a process that has set up asynchronous
	// I/O. The events may be of something else.
	Loop bool
}

// asyncWaits finds the threads that wait for asynchronous I/O; with loops, also those that wait for events.
func (s *Sampler) asyncWaits(processes map[int]Process, loops bool) map[int]Thread {
	var out map[int]Thread
	for pid := range processes {
		looked, async := false, false
		for _, tid := range s.threads(pid) {
			dir := filepath.Join(s.fs.Proc, strconv.Itoa(pid), "task", strconv.Itoa(tid))
			b, err := s.read(filepath.Join(dir, "syscall"))
			if err != nil {
				continue
			}
			direct, loop := waitsForAsync(string(b)), false
			if !direct && loops && s.waitsForEvents(pid, string(b)) {
				if !looked {
					looked, async = true, s.submitsAsync(pid)
				}
				loop = async
			}
			if !direct && !loop {
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
			out[tid] = Thread{ran, loop}
		}
	}
	return out
}

// waitsForEvents reports whether a thread's call waits for events: epoll, poll or select, or a read of an eventfd.
func (s *Sampler) waitsForEvents(pid int, text string) bool {
	f := strings.Fields(text)
	if len(f) < 2 {
		return false
	}
	n, err := strconv.Atoi(f[0])
	if err != nil {
		return false
	}
	if n == callRead {
		fd, err := strconv.ParseUint(f[1], 0, 32)
		return err == nil && s.link(pid, strconv.FormatUint(fd, 10)) == "anon_inode:[eventfd]"
	}
	return slices.Contains(eventCalls, n)
}

// submitsAsync reports whether a process has set up asynchronous I/O: a mapped context of libaio, or an open ring of
// io_uring.
func (s *Sampler) submitsAsync(pid int) bool {
	dir := filepath.Join(s.fs.Proc, strconv.Itoa(pid))
	if b, err := s.read(filepath.Join(dir, "maps")); err == nil && bytes.Contains(b, []byte(" /[aio]")) {
		return true
	}
	entries, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return s.link(pid, e.Name()) == "anon_inode:[io_uring]" })
}

// link is the target of a process's open file.
func (s *Sampler) link(pid int, fd string) string {
	name, err := os.Readlink(filepath.Join(s.fs.Proc, strconv.Itoa(pid), "fd", fd))
	if err != nil {
		return ""
	}
	return name
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

// waitsForAsync reports whether /proc/PID/task/TID/syscall shows a call that waits for completions: "208 0x7f.. 0x1
// ...". A running thread shows "running".
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
		// The arguments are fd, to_submit, min_complete, ...: without a third one it doesn't wait.
		f := strings.Fields(rest)
		return len(f) > 2 && f[2] != "0x0"
	}
	return false
}

// parseSchedstat reads /proc/PID/task/TID/schedstat: nanoseconds on a CPU, nanoseconds in its queue, and the number
// of runs (Documentation/scheduler/sched-stats.rst).
func parseSchedstat(text string) (time.Duration, error) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return 0, fmt.Errorf("schedstat: %q has fewer than 2 numbers", strings.TrimSpace(text))
	}
	ran, err := strconv.ParseInt(f[0], 10, 64)
	queued, err2 := strconv.ParseInt(f[1], 10, 64)
	if err != nil || err2 != nil {
		return 0, fmt.Errorf("schedstat: %q are not times", strings.TrimSpace(text))
	}
	return time.Duration(ran + queued), nil
}

// slept is the longest time in an interval, in seconds, that a thread waited for asynchronous I/O, or with loop for
// events. Only threads that waited in both samples count.
func slept(before, after map[int]Thread, loop bool, seconds float64) float64 {
	most := 0.0
	for tid, a := range after {
		if b, was := before[tid]; was && a.Ran >= b.Ran && a.Loop == loop && b.Loop == loop {
			most = max(most, seconds-(a.Ran-b.Ran).Seconds())
		}
	}
	return most
}

// delayed is how long each thread has waited for its own I/O since it started: delay accounting, field 42 of
// /proc/PID/task/TID/stat in clock ticks (Documentation/accounting/delay-accounting.rst). ok is false where the
// kernel doesn't count (kernel.task_delayacct=0, the default since Linux 5.14).
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

// parseDelay reads field 42 of a stat file, in clock ticks of 1/100 s (USER_HZ).
func parseDelay(text string) (time.Duration, error) {
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 40 {
		return 0, fmt.Errorf("%d fields are too few", len(f))
	}
	n, err := strconv.ParseInt(f[39], 10, 64)
	return time.Duration(n) * (time.Second / 100), err
}

// delayOf is the wait in seconds of the most delayed thread between two samples: at least one thread waited that
// long.
func delayOf(before, after map[int]time.Duration, seconds float64) float64 {
	most := 0.0
	for tid, a := range after {
		most = max(most, (a - before[tid]).Seconds())
	}
	return min(most, seconds)
}
