package watch

import (
	"fmt"
	"strconv"
	"strings"
)

// An IO is /proc/PID/io (proc_pid_io(5)): the I/O of a process, with all of its threads, and of the processes that it
// has waited for.
type IO struct {
	// CallBytesRead and CallBytesWritten are the bytes of read, write and similar calls, to files, pipes and
	// terminals alike, whether or not they reached a device. io_uring and libaio don't count.
	CallBytesRead, CallBytesWritten int64
	// Reads and Writes are the numbers of those calls.
	Reads, Writes int64
	// BytesRead were read from storage. BytesWritten were written directly or dirtied in the page cache; Cancelled of
	// them never reach storage, since their file was truncated or removed before.
	BytesRead, BytesWritten, Cancelled int64
}

func (a IO) plus(b IO) IO {
	return IO{a.CallBytesRead + b.CallBytesRead, a.CallBytesWritten + b.CallBytesWritten, a.Reads + b.Reads, a.Writes + b.Writes, a.BytesRead + b.BytesRead, a.BytesWritten + b.BytesWritten, a.Cancelled + b.Cancelled}
}

func (a IO) minus(b IO) IO {
	return IO{a.CallBytesRead - b.CallBytesRead, a.CallBytesWritten - b.CallBytesWritten, a.Reads - b.Reads, a.Writes - b.Writes, a.BytesRead - b.BytesRead, a.BytesWritten - b.BytesWritten, a.Cancelled - b.Cancelled}
}

// covers reports whether no counter of b is above that of a.
func (a IO) covers(b IO) bool {
	d := a.minus(b)
	return min(d.CallBytesRead, d.CallBytesWritten, d.Reads, d.Writes, d.BytesRead, d.BytesWritten, d.Cancelled) >= 0
}

// A Process is one of a subject's processes.
type Process struct {
	// Start is when it started, in clock ticks since boot.
	Start uint64
	// Parent is its parent process when it was first seen.
	Parent int
	IO     IO
}

// An App is the I/O of a subject's processes in an interval.
type App struct {
	// ReadCalls and WriteCalls are calls of read and write, and the bytes that they moved, to anything.
	ReadCalls  Flow `json:"read_calls"`
	WriteCalls Flow `json:"write_calls"`
	// StorageRead and StorageWritten are bytes from and to storage: read, and written directly or left in the page
	// cache. Cancelled of the latter never reach storage.
	StorageRead    int64 `json:"storage_read_bytes"`
	StorageWritten int64 `json:"storage_written_bytes"`
	Cancelled      int64 `json:"cancelled_bytes"`
	// Processes is their number at the end of the interval.
	Processes int `json:"processes"`
	// Ended is the number of processes that ended in the interval without passing on their counters within the
	// subject.
	Ended int `json:"ended,omitempty"`
}

// Wrote is the number of bytes that the subject wrote to storage, without those cancelled.
func (a App) Wrote() int64 { return max(0, a.StorageWritten-a.Cancelled) }

// appUse is the I/O of a group's processes between two samples.
//
// A process that ends adds its counters to those of the parent that waits for it (wait_task_zombie in the kernel's
// kernel/exit.c). So the sum over the group grows by the group's I/O, as long as the parent is in the group. If no
// ancestor in the group grew by as much, the counters are lost (the parent is elsewhere, or never waits): then the
// process's I/O before the first sample is not subtracted, and its I/O since is unknown.
//
// A process that is older than the first sample and was not in the group then has moved in: its I/O up to the second
// reading that sees it doesn't count. since is the first sample's time in clock ticks.
func appUse(before, after map[int]Process, since uint64, seconds float64) App {
	grown := map[int]IO{}
	var sum IO
	for pid, p := range after {
		b, was := before[pid]
		switch {
		case was && b.Start == p.Start:
			grown[pid] = p.IO.minus(b.IO)
		case p.Start >= since:
			grown[pid] = p.IO
		}
	}
	a := App{Processes: len(after)}
	// Parents come before the processes that inherit from them: a chain of ends adds up.
	for pid, p := range before {
		if n, still := after[pid]; still && n.Start == p.Start {
			continue
		}
		heir, ok := heirOf(pid, before, after)
		if g, has := grown[heir]; ok && has && g.covers(p.IO) {
			grown[heir] = g.minus(p.IO)
			continue
		}
		a.Ended++
	}
	for _, g := range grown {
		if !g.covers(IO{}) {
			continue // A counter fell: another process has the number.
		}
		sum = sum.plus(g)
	}
	a.ReadCalls, a.WriteCalls = flow(sum.CallBytesRead, sum.Reads, seconds), flow(sum.CallBytesWritten, sum.Writes, seconds)
	a.StorageRead, a.StorageWritten, a.Cancelled = sum.BytesRead, sum.BytesWritten, sum.Cancelled
	return a
}

// heirOf is the nearest living ancestor of a process in before.
func heirOf(pid int, before, after map[int]Process) (int, bool) {
	for range len(before) {
		p, known := before[pid]
		if !known {
			return 0, false
		}
		pid = p.Parent
		if n, ok := after[pid]; ok {
			if b, was := before[pid]; was && b.Start == n.Start {
				return pid, true
			}
		}
	}
	return 0, false
}

// parseIO reads /proc/PID/io.
func parseIO(text string) (IO, error) {
	var io IO
	fields := map[string]*int64{
		"rchar": &io.CallBytesRead, "wchar": &io.CallBytesWritten, "syscr": &io.Reads, "syscw": &io.Writes,
		"read_bytes": &io.BytesRead, "write_bytes": &io.BytesWritten, "cancelled_write_bytes": &io.Cancelled,
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		p := fields[key]
		if p == nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return IO{}, fmt.Errorf("%q is not a count", strings.TrimSpace(line))
		}
		*p = n
		delete(fields, key)
	}
	if len(fields) > 0 {
		return IO{}, fmt.Errorf("%d counters are missing", len(fields))
	}
	return io, nil
}
