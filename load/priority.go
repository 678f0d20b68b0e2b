package load

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/hist"
)

// A Priority is an I/O priority in the kernel's format: the class times 8192, plus the level (ioprio_set(2)). 0: none
// is set.
type Priority uint16

// Classes of a Priority. The kernel reserves the first for processes with CAP_SYS_NICE.
const (
	RealTime   = 1
	BestEffort = 2
	Idle       = 3
)

// levels is the number of levels in a class, the most urgent first.
const levels = 8

// classShift is the position of the class (IOPRIO_CLASS_SHIFT).
const classShift = 13

// NewPriority returns the priority of a class and a level from 0 to 7.
func NewPriority(class, level int) Priority { return Priority(class<<classShift | level) }

// Class returns the class, or 0 if none is set.
func (p Priority) Class() int { return int(p >> classShift) }

// Level returns the level within the class.
func (p Priority) Level() int { return int(p & (levels - 1)) }

func (p Priority) valid() bool {
	return p.Class() >= RealTime && p.Class() <= Idle && p == NewPriority(p.Class(), p.Level())
}

// A PriorityShare gives some of a job's reads or writes a priority of their own.
type PriorityShare struct {
	// Size is the size in bytes of the I/Os that the share applies to. 0: any size.
	Size int64 `json:"size,omitempty"`
	// Percent is the percentage of those that have the priority.
	Percent  int      `json:"percent"`
	Priority Priority `json:"priority"`
}

// PriorityLat holds the latencies of the I/Os of one priority.
type PriorityLat struct {
	Priority Priority        `json:"priority"`
	Lat      *hist.Histogram `json:"lat"`
}

// priorities are the priorities that a job's I/Os may have, by operation; nil if the job gives none to single I/Os.
type priorities [2]prioritized

// prioritized holds the priorities of one operation. The first element of all is the job's own, for I/Os without a
// share.
type prioritized struct {
	all    []Priority
	shares []PriorityShare
	index  []uint8 // of the share's priority in all
}

func newPriorities(j Job) *priorities {
	var p priorities
	for op, shares := range [][]PriorityShare{j.ReadPriorities, j.WritePriorities} {
		if len(shares) == 0 {
			continue
		}
		o := &p[op]
		o.all, o.shares = []Priority{j.Priority}, shares
		for _, s := range shares {
			i := slices.Index(o.all, s.Priority)
			if i < 0 {
				i, o.all = len(o.all), append(o.all, s.Priority)
			}
			o.index = append(o.index, uint8(i))
		}
	}
	if p[opRead].all == nil && p[opWrite].all == nil {
		return nil
	}
	return &p
}

// draw returns the index of an I/O's priority. n is a random number from 0 to 99.
func (o *prioritized) draw(size int64, n int) uint8 {
	for i, s := range o.shares {
		if s.Size != 0 && s.Size != size {
			continue
		}
		if n -= s.Percent; n < 0 {
			return o.index[i]
		}
	}
	return 0
}

// prioShift is the position of the index of an I/O's priority in slot.state. There are at most 24 and the job's own.
const prioShift = 3

// A prioEngine gives I/Os their priorities before another engine submits them. Jobs without such priorities don't use
// it.
type prioEngine struct {
	asyncEngine
	of    *priorities
	slots []slot
	raw   []uint16 // of each slot, for the engine
	own   Priority
	rng   generator
}

// run implements asyncEngine.
func (e *prioEngine) run(batch []uint32, want int, timeout time.Duration) ([]completion, error) {
	for _, s := range batch {
		sl := &e.slots[s]
		o := &e.of[sl.op&1]
		if len(o.all) == 0 {
			e.raw[s] = uint16(e.own)
			continue
		}
		if sl.done > 0 {
			continue // The rest of a short I/O keeps its priority.
		}
		i := o.draw(sl.size, int(e.rng.rand()>>32*100>>32))
		sl.state = sl.state&(1<<prioShift-1) | i<<prioShift
		e.raw[s] = uint16(o.all[i])
	}
	return e.asyncEngine.run(batch, want, timeout)
}

// prioritize makes the thread's engine give its I/Os their priorities.
func (t *thread) prioritize() {
	r := t.run
	p, ok := t.async.(interface{ priorities([]uint16) })
	if !ok || r.prios == nil && r.job.Priority == 0 {
		return
	}
	raw := make([]uint16, len(t.slots))
	for i := range raw {
		raw[i] = uint16(r.job.Priority)
	}
	if p.priorities(raw); r.prios == nil {
		return
	}
	for op := range r.prios {
		if n := len(r.prios[op].all); n > 0 {
			t.acct.prios[op] = make([]hist.Histogram, n)
		}
	}
	t.async = &prioEngine{asyncEngine: t.async, of: r.prios, slots: t.slots, raw: raw, own: r.job.Priority, rng: generator{rng: t.gen.rand()}}
}

// priority returns the priority of the slot's I/O.
func (r *Run) priority(sl *slot) Priority {
	if r.prios != nil {
		if all := r.prios[sl.op&1].all; len(all) > 0 {
			return all[sl.state>>prioShift]
		}
	}
	return r.job.Priority
}

// byPriority records the latency of an I/O under its priority.
func (a *account) byPriority(op uint8, number uint8, lat int64) {
	if op < opSync && a.prios[op] != nil {
		a.prios[op][number].Record(lat)
	}
}

// latencies returns the latencies of an operation by priority, or nil if they are not recorded separately.
func (r *Run) latencies(op int, prios []hist.Histogram) (all []PriorityLat) {
	for i := range prios {
		all = append(all, PriorityLat{r.prios[op].all[i], &prios[i]})
	}
	return all
}

// MergePriorities returns the sum of two lists, in the order in which priorities first appear. It changes neither.
func MergePriorities(a, b []PriorityLat) (out []PriorityLat) {
	for _, l := range [][]PriorityLat{a, b} {
		for _, p := range l {
			if p.Lat == nil {
				continue
			}
			i := slices.IndexFunc(out, func(o PriorityLat) bool { return o.Priority == p.Priority })
			if i < 0 {
				out = append(out, PriorityLat{p.Priority, merged(nil, p.Lat)})
				continue
			}
			out[i].Lat.Merge(p.Lat)
		}
	}
	return out
}

// maxShares is the maximum number of shares per operation, as in fio.
const maxShares = 64

// priorities checks the job's priorities.
func (v *validator) priorities(j Job) {
	if j.Priority != 0 && !j.Priority.valid() {
		v.add("prio", j.Priority, "a class is from 1 to 3, and a level from 0 to 7")
	}
	for _, o := range []struct {
		name string
		all  []PriorityShare
		used bool
	}{{"read_priorities", j.ReadPriorities, j.reads() && !j.discards()}, {"write_priorities", j.WritePriorities, j.writes() && !j.discards()}} {
		if len(o.all) == 0 {
			continue
		}
		if !o.used || j.pairs() {
			v.add(o.name, len(o.all), "has no meaning with rw=%s", j.RW)
		}
		if j.IOEngine != IOUring && j.IOEngine != LinuxAIO {
			v.add(o.name, len(o.all), "needs ioengine=%s or %s", IOUring, LinuxAIO)
		}
		if len(o.all) > maxShares {
			v.add(o.name, len(o.all), "at most %d shares", maxShares)
		}
		sums := map[int64]int{}
		for _, s := range o.all {
			sums[s.Size] += s.Percent
			switch {
			case s.Size < 0:
				v.add(o.name, s.Size, "a size must not be negative")
			case s.Percent < 1 || s.Percent > 100:
				v.add(o.name, s.Percent, "a share must be from 1 to 100 percent")
			case !s.Priority.valid():
				v.add(o.name, s.Priority, "a class is from 1 to 3, and a level from 0 to 7")
			}
		}
		for size, sum := range sums {
			if size != 0 {
				sum += sums[0]
			}
			if sum > 100 {
				v.add(o.name, sum, "the shares of %s are more than 100 percent", map[bool]string{true: "all sizes", false: fmt.Sprintf("size %d", size)}[size == 0])
			}
		}
	}
}
