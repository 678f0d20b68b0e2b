package watch

import (
	"fmt"
	"strconv"
	"strings"
)

// An IO is /proc/PID/io (proc_pid_io(5)): what a process did, all of its threads, and the processes that it waited for.
type IO struct {
	// CallBytesRead and CallBytesWritten are bytes that read, write and their kin moved, to files, pipes and terminals alike,
	// whether a device saw them or not. io_uring and libaio don't count.
	CallBytesRead, CallBytesWritten int64
	// Reads and Writes are those calls.
	Reads, Writes int64
	// BytesRead were fetched from storage. BytesWritten were written directly or made dirty in the page cache; of
	// those, Cancelled never were written, since their file was cut or removed before.
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

// A Process is one of a subject's.
type Process struct {
	// Start is when it started, in clock ticks since boot.
	Start uint64
	// Parent is the process that waits for it, as it was when this one was first seen.
	Parent int
	IO     IO
}

// An App is what a subject's processes did in an interval.
type App struct {
	// ReadCalls and WriteCalls are calls of read and write and what they moved, to anything.
	ReadCalls  Flow `json:"read_calls"`
	WriteCalls Flow `json:"write_calls"`
	// StorageRead and StorageWritten are bytes for storage: fetched, and written directly or left in the page cache. Cancelled are
	// those of them that never will be written.
	StorageRead    int64 `json:"storage_read_bytes"`
	StorageWritten int64 `json:"storage_written_bytes"`
	Cancelled      int64 `json:"cancelled_bytes"`
	// Processes are there at the end of the interval.
	Processes int `json:"processes"`
	// Ended are those that ended in the interval, and whose last bytes no process of the subject has taken over.
	Ended int `json:"ended,omitempty"`
}

// Wrote is what the subject gave to storage to write, and didn't take back.
func (a App) Wrote() int64 { return max(0, a.StorageWritten-a.Cancelled) }

// appUse is what a group's processes did between two samples.
//
// A process that ended hands its counters to the parent that waited for it (wait_task_zombie in the
// kernel's kernel/exit.c), with all that it ever did. So the sum of the group is what grows by what was done, as long as the parent
// is in the group. Where no ancestor in the group has grown by as much, the counters are lost (the parent is elsewhere, or never
// waits): what it did up to the first sample is then not subtracted, and what it did since is unknown.
//
// A process that is older than the first sample and wasn't in the group then has moved in: what it did before is
// no more the group's than what it does until it is seen twice. since is the first sample's time in clock ticks.
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
	// Old ones inherit before the processes whose heirs they are are looked at: a chain of ends adds up.
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

// heirOf is the nearest ancestor of a process of before that is still there.
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
			return IO{}, fmt.Errorf("%q is no count", strings.TrimSpace(line))
		}
		*p = n
		delete(fields, key)
	}
	if len(fields) > 0 {
		return IO{}, fmt.Errorf("%d counters are missing", len(fields))
	}
	return io, nil
}

// parseBirth reads the parent and the start of a process, fields 4 and 22 of /proc/PID/stat (proc_pid_stat(5)). The second field is a
// name in parentheses that may hold anything.
func parseBirth(text string) (parent int, start uint64, err error) {
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(f) < 20 {
		return 0, 0, fmt.Errorf("%d fields are too few", len(f))
	}
	if parent, err = strconv.Atoi(f[1]); err != nil {
		return 0, 0, fmt.Errorf("%q is no process", f[1])
	}
	start, err = strconv.ParseUint(f[19], 10, 64)
	return parent, start, err
}
