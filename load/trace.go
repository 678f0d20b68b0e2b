package load

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"
)

// MaxTrace is the maximum of Job.Trace. It bounds the message with the trace, in which each I/O takes up to 30 bytes.
const MaxTrace = 400_000

// A TracedIO is one read, write or trim of the measured window.
type TracedIO struct {
	// End is when its thread saw it complete, from the beginning of the window; Lat is how long it took.
	End, Lat time.Duration
	// Offset and Size are its bytes in its file.
	Offset, Size int64
	Write        bool
	Priority     Priority
}

// A Trace is a list of I/Os in the order in which they ended. Because there are many, it is one string in JSON: the
// base64 of varints for each I/O, the time since the one before ended, its latency, its distance from the end of the
// one before, and its size, doubled, plus 1 for a write. A trace with priorities begins with prioritizedTrace, which
// can't be a time, and has the priority of each I/O in a byte after its size.
type Trace []TracedIO

// prioritizedTrace lies before the beginning of the window, where no I/O of a trace ends.
const prioritizedTrace = -1

// MarshalJSON implements json.Marshaler.
func (t Trace) MarshalJSON() ([]byte, error) {
	b := []byte{} // nil would be null.
	prios := slices.ContainsFunc(t, func(o TracedIO) bool { return o.Priority != 0 })
	if prios {
		b = binary.AppendVarint(b, prioritizedTrace)
	}
	var end time.Duration
	var at int64
	for _, o := range t {
		write := uint64(0)
		if o.Write {
			write = 1
		}
		b = binary.AppendVarint(b, int64(o.End-end))
		b = binary.AppendVarint(b, int64(o.Lat))
		b = binary.AppendVarint(b, o.Offset-at)
		b = binary.AppendUvarint(b, uint64(o.Size)<<1|write)
		if prios {
			b = append(b, byte(o.Priority.Class()*levels+o.Priority.Level()))
		}
		end, at = o.End, o.Offset+o.Size
	}
	return json.Marshal(b)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Trace) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*t = nil
	var end time.Duration
	var at int64
	first, n := binary.Varint(b)
	prios := n > 0 && first == prioritizedTrace
	if prios {
		b = b[n:]
	}
	for len(b) > 0 {
		var v [3]int64
		for i := range v {
			x, n := binary.Varint(b)
			if n <= 0 {
				return errTrace
			}
			v[i], b = x, b[n:]
		}
		size, n := binary.Uvarint(b)
		if n <= 0 {
			return errTrace
		}
		b = b[n:]
		o := TracedIO{End: end + time.Duration(v[0]), Lat: time.Duration(v[1]), Offset: at + v[2], Size: int64(size >> 1), Write: size&1 == 1}
		if prios {
			if len(b) == 0 || b[0] >= levels*levels {
				return errTrace
			}
			b, o.Priority = b[1:], NewPriority(int(b[0])/levels, int(b[0])%levels)
		}
		if *t = append(*t, o); len(*t) > MaxTrace {
			return errTrace
		}
		end, at = o.End, o.Offset+o.Size
	}
	return nil
}

var errTrace = errors.New("no trace of I/Os")

// note adds an I/O that ended at now to the thread's trace, if there is one with room left.
func (t *thread) note(sl *slot, now int64) {
	if len(t.trace) < cap(t.trace) {
		t.trace = append(t.trace, TracedIO{
			End: time.Duration(now - t.run.begin.Load()), Lat: time.Duration(now - sl.start), Offset: sl.off, Size: sl.size, Write: sl.op&1 == opWrite, Priority: t.run.priority(sl),
		})
	}
}

// traced merges the traces of the threads by time. If the trace of one thread was full, the later I/Os of the others
// are omitted.
func (r *Run) traced() Trace {
	if r.job.Trace == 0 {
		return nil
	}
	var all Trace
	until := time.Duration(math.MaxInt64)
	for _, t := range r.threads {
		if all = append(all, t.trace...); len(t.trace) == cap(t.trace) {
			until = min(until, t.trace[len(t.trace)-1].End)
		}
	}
	all = slices.DeleteFunc(all, func(o TracedIO) bool { return o.End > until })
	slices.SortStableFunc(all, func(a, b TracedIO) int { return cmp.Compare(a.End, b.End) })
	return all
}
