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

// MaxTrace bounds Job.Trace: in a message each I/O takes up to 30 bytes.
const MaxTrace = 400_000

// A TracedIO is one read, write or trim of the measured window.
type TracedIO struct {
	// End is when its thread saw it complete, from the beginning of the window, and Lat how long it took.
	End, Lat time.Duration
	// Offset and Size are its bytes in its file.
	Offset, Size int64
	Write        bool
	Priority     Priority
}

// A Trace is I/Os in the order in which they ended. In JSON it is one text, since a trace has many: base64 of, for each I/O and as
// varints, the time since the one before ended, its latency, how far it is from the end of the one before, and its size, doubled for a
// read and with 1 more for a write. A trace with priorities begins with prioritizedTrace, which is no such time, and has that of each in a byte behind its size.
type Trace []TracedIO

// prioritizedTrace is before the beginning of the window, where no I/O of a trace ends.
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

// note adds an I/O that ended at now to the thread's trace, if one is asked for and there is room.
func (t *thread) note(sl *slot, now int64) {
	if len(t.trace) < cap(t.trace) {
		t.trace = append(t.trace, TracedIO{
			End: time.Duration(now - t.run.begin.Load()), Lat: time.Duration(now - sl.start), Offset: sl.off, Size: sl.size, Write: sl.op&1 == opWrite, Priority: t.run.priority(sl),
		})
	}
}

// traced joins what the threads noted, in the order of time. Where the room of one was full, the others' later I/Os are left out.
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
