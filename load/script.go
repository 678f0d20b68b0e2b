package load

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// MaxScript is the maximum length of Job.Script: in a message each step takes up to 30 bytes.
const MaxScript = 400_000

// A Step is one I/O of a script.
type Step struct {
	// Op is Read, Write, StepSync or StepDataSync; File is the index of its file in the job. A sync covers all files.
	Op   string
	File int
	// Offset and Size are its bytes in that file; a sync has none.
	Offset, Size int64
	// After is the earliest start, measured from the start of the step before it; At is the earliest start, measured
	// from the start of the run.
	After, At time.Duration
}

// The actions of a Step other than Read and Write.
const (
	StepSync     = "sync"
	StepDataSync = "datasync"
)

var stepOps = []string{Read, Write, StepSync, StepDataSync}

// A Script is a list of I/Os in order. Because there may be many, it is one string in JSON: the base64 of varints for
// each step, its operation and file, its distance from the end of the one before, its size, and its times.
type Script []Step

// MarshalJSON implements json.Marshaler.
func (s Script) MarshalJSON() ([]byte, error) {
	b := []byte{} // nil would be null.
	var at int64
	for _, o := range s {
		op := 0
		for i, name := range stepOps {
			if name == o.Op {
				op = i
			}
		}
		b = binary.AppendUvarint(b, uint64(o.File)<<2|uint64(op))
		b = binary.AppendVarint(b, o.Offset-at)
		b = binary.AppendUvarint(b, uint64(o.Size))
		b = binary.AppendUvarint(b, uint64(o.After))
		b = binary.AppendUvarint(b, uint64(o.At))
		at = o.Offset + o.Size
	}
	return json.Marshal(b)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Script) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*s = nil
	for at := int64(0); len(b) > 0; {
		var v [5]uint64
		for i := range v {
			x, n := binary.Uvarint(b)
			if n <= 0 || i != 1 && x > 1<<62 {
				return errScript
			}
			v[i], b = x, b[n:]
		}
		far := int64(v[1] >> 1) // As binary.Varint does.
		if v[1]&1 != 0 {
			far = ^far
		}
		o := Step{Op: stepOps[v[0]&3], File: int(v[0] >> 2), Offset: at + far, Size: int64(v[2]), After: time.Duration(v[3]), At: time.Duration(v[4])}
		if *s = append(*s, o); len(*s) > MaxScript {
			return errScript
		}
		at = o.Offset + o.Size
	}
	return nil
}

var errScript = errors.New("no script of I/Os")

// player is the position of a thread in its job's script.
type player struct {
	steps Script
	at    int
	last  int64 // when the last step started
}

// syncsInScript reports whether the job's script has syncs.
func (j Job) syncsInScript() bool {
	return slices.ContainsFunc(j.Script, func(s Step) bool { return s.Size == 0 })
}

// scriptDue returns when the next step may start; ok is false if there is none left.
func (t *thread) scriptDue() (due int64, ok bool) {
	p := t.play
	if p.at == len(p.steps) {
		return 0, false
	}
	s := &p.steps[p.at]
	if s.At > 0 {
		due = t.run.start + int64(s.At)
	}
	if s.After > 0 {
		due = max(due, p.last+int64(s.After))
	}
	return due, true
}

// scriptSync reports whether the next step is a sync that is due.
func (t *thread) scriptSync(now int64) bool {
	if t.play == nil {
		return false
	}
	due, ok := t.scriptDue()
	return ok && due <= now && t.play.steps[t.play.at].Size == 0
}

// step takes the next step, which starts now.
func (t *thread) step(now int64) Step {
	p := t.play
	s := p.steps[p.at]
	p.at, p.last = p.at+1, now
	return s
}

// playSync does the sync that is the next step. The thread has no I/O in flight.
func (t *thread) playSync(now int64) error {
	return t.doSync(t.step(now).Op == StepDataSync)
}

// fillScript is fill for a job with a script.
func (t *thread) fillScript(now int64) time.Duration {
	for len(t.free) > 0 {
		due, ok := t.scriptDue()
		switch {
		case !ok:
			t.out = true
			return forever
		case due > now:
			return time.Duration(due - now)
		case t.scriptSync(now):
			return forever
		}
		s := t.free[len(t.free)-1]
		t.free = t.free[:len(t.free)-1]
		t.armStep(s, now)
		t.batch = append(t.batch, s)
	}
	return forever
}

// playNext is armNext for a job with a script.
func (t *thread) playNext(now int64) (armed, end bool) {
	due, ok := t.scriptDue()
	switch {
	case !ok:
		return false, true
	case due > now:
		t.idle(now, time.Duration(due-now))
		return false, false
	}
	t.armStep(0, now)
	return true, false
}

// armStep turns the free slot s into the next step.
func (t *thread) armStep(s uint32, now int64) {
	sl, o := &t.slots[s], t.step(now)
	sl.op, sl.file, sl.off, sl.size = opRead, uint16(o.File), o.Offset, o.Size
	sl.start, sl.due, sl.done, sl.state = now, 0, 0, countedIO
	if sl.seg = s; o.Op == Write {
		t.seq++
		sl.op, sl.seg = opWrite, t.bufs.fill(&t.gen, o.Size, o.Offset, t.seq)
		if t.bufs.refill == RefillBefore {
			sl.start = t.run.clk.now()
		}
	}
	sl.buf = t.bufs.addr(sl.seg)
	t.lastSize = o.Size
	t.acct.started++
}

// script checks the steps, which are all that the job does.
func (v *validator) script(j Job) {
	if len(j.Script) == 0 {
		return
	}
	bad := func(format string, args ...any) { v.add("script", "steps", format, args...) }
	switch {
	case len(j.Script) > MaxScript:
		bad("has %d steps, and may have %d", len(j.Script), MaxScript)
		return
	case j.random() || j.trims() || j.NumJobs != 1 || synchronous(j.IOEngine) && j.IODepth > 1:
		bad("needs rw=read, write or rw, and one thread")
	case j.timed() || j.Fsync > 0 || j.FDataSync > 0, // Times of its own
		j.ByAmount() || j.Loops > 1 || j.Round > 0,      // and an end,
		j.split() || j.RWNumber != 0 || len(j.Only) > 0, // sizes and offsets,
		j.Parallel || j.Tail || j.DropCache,             // an order,
		j.Verify || j.Peer != "":                        // and data.
		bad("has its own offsets, sizes and times: leave out rates, pauses, ramp_time, syncs, loops, io_size, several sizes and verify")
	}
	reads, writes := false, false
	for i, s := range j.Script {
		sync := s.Op == StepSync || s.Op == StepDataSync
		reads, writes = reads || s.Op == Read, writes || s.Op == Write
		switch {
		case !sync && s.Op != Read && s.Op != Write:
			bad("step %d does %q", i+1, s.Op)
		case sync && s.Size != 0, s.After < 0 || s.At < 0:
			bad("step %d has no such size or time", i+1)
		case !sync && !s.within(j):
			bad("step %d lies outside of the region, or is more than bs=%d", i+1, j.BS)
		default:
			continue
		}
		return
	}
	if reads != j.reads() || writes != j.writes() {
		bad("has other operations than rw=%s", j.RW)
	}
}

// within reports whether a step's I/O lies in one of the job's files and is no longer than a block.
func (s Step) within(j Job) bool {
	file := s.File >= 0 && s.File < j.fileCount()
	size := s.Size >= 1 && s.Size <= j.BS
	return file && size && s.Offset >= 0 && s.Offset <= j.Size-s.Size
}
