package load

import (
	"sync/atomic"
	"time"

	"plimsoll/hist"
)

// An account is what one thread measured. Only progress is read by others
// while the thread runs.
type account struct {
	progress [2]progress // of reads and writes
	shown    int64       // when progress was last brought up to date
	handed   [2]count    // what was counted before this account was emptied last (see book)
	bytes    [opCount]int64
	lat      [opCount]hist.Histogram
	response [opCount]hist.Histogram
	files    []fileAccount // of each file, if that is asked for
	started  int64         // reads and writes taken up, ramp included
	late     int64
	maxLate  int64
	unfinish int64
	doneAt   int64
	usage    ThreadUsage
	_        [64]byte
}

// A fileAccount is what was done in one file.
type fileAccount struct {
	bytes [2]int64
	lat   [2]hist.Histogram
}

// inFile counts one I/O in its file.
func (a *account) inFile(sl *slot, lat int64) {
	f, op := &a.files[sl.file], sl.op&1
	f.lat[op].Record(lat)
	f.bytes[op] += int64(sl.size)
}

// progress is how far a thread is with one kind of operation.
type progress struct{ ops, bytes, lat atomic.Int64 }

// A count is a reading of progress, or a sum of several.
type count struct{ ops, bytes, lat int64 }

func (c count) minus(o count) count {
	return count{c.ops - o.ops, c.bytes - o.bytes, c.lat - o.lat}
}

// showEvery is how long what a thread counted may stay unseen by others, in nanoseconds. It
// saves an atomic store per I/O; what a sample misses is in the next one.
const showEvery = 100_000

// publish shows others how far the thread is at now.
func (t *thread) publish(now int64) {
	a := &t.acct
	if now-a.shown < showEvery {
		return
	}
	a.shown = now
	a.show()
}

// show shows others all that was counted.
func (a *account) show() {
	for op := range a.progress {
		p, all := &a.progress[op], a.counted(op)
		p.ops.Store(all.ops)
		p.bytes.Store(all.bytes)
		p.lat.Store(all.lat)
	}
}

// counted is what the thread counted of reads or writes, handed in or not.
func (a *account) counted(op int) count {
	h := a.handed[op]
	return count{h.ops + int64(a.lat[op].Count()), h.bytes + a.bytes[op], h.lat + int64(a.lat[op].Sum())}
}

// sum adds up what the threads measured.
func (r *Run) sum(res *Result) {
	var all account
	first, last := int64(-1), int64(0)
	if r.book != nil {
		all.merge(&r.book.total)
	}
	for _, t := range r.threads {
		a := &t.acct
		all.merge(a)
		all.usage = all.usage.plus(a.usage, 1)
		if first < 0 || a.doneAt < first {
			first = a.doneAt
		}
		last = max(last, a.doneAt)
	}
	res.FirstDone = time.Duration(max(first-r.begin.Load(), 0))
	res.LastDone = time.Duration(max(last-r.begin.Load(), 0))
	res.Late, res.MaxLate, res.Unfinished = all.late, time.Duration(all.maxLate), all.unfinish
	res.Missed = r.missed(all.started)
	res.Classes, res.Threads = r.classes(&all), all.usage
	if !r.job.PerJob {
		return
	}
	for i := range r.lanes {
		var one account
		j := JobResult{}
		for _, t := range r.laneThreads(i) {
			one.merge(&t.acct)
			one.usage = one.usage.plus(t.acct.usage, 1)
			j.Done = max(j.Done, time.Duration(t.acct.doneAt-r.begin.Load()))
		}
		j.Classes, j.Threads = r.classes(&one), one.usage
		for k := range one.files {
			j.Files = append(j.Files, FileResult{r.fileClasses(&one.files[k])})
		}
		res.Jobs = append(res.Jobs, j)
	}
}

// merge adds what b counted to a.
func (a *account) merge(b *account) {
	for op := range opCount {
		a.lat[op].Merge(&b.lat[op])
		a.response[op].Merge(&b.response[op])
		a.bytes[op] += b.bytes[op]
	}
	if len(a.files) < len(b.files) {
		a.files = make([]fileAccount, len(b.files))
	}
	for i := range b.files {
		for op := range b.files[i].lat {
			a.files[i].lat[op].Merge(&b.files[i].lat[op])
			a.files[i].bytes[op] += b.files[i].bytes[op]
		}
	}
	a.started += b.started
	a.late += b.late
	a.maxLate = max(a.maxLate, b.maxLate)
	a.unfinish += b.unfinish
}

// classes are the job's kinds of operation with what a holds of them.
func (r *Run) classes(a *account) []Class {
	var all []Class
	for op, name := range opNames {
		if !r.has(op) {
			continue
		}
		c := Class{Name: name, Ops: int64(a.lat[op].Count()), Bytes: a.bytes[op], Lat: &a.lat[op]}
		if op != opSync && r.pace.open {
			c.Response = &a.response[op]
		}
		all = append(all, c)
	}
	return all
}

// fileClasses are the reads and writes of the job with what f holds of them.
func (r *Run) fileClasses(f *fileAccount) []Class {
	var all []Class
	for op := range f.lat {
		if r.has(op) {
			all = append(all, Class{Name: opNames[op], Ops: int64(f.lat[op].Count()), Bytes: f.bytes[op], Lat: &f.lat[op]})
		}
	}
	return all
}

// has reports whether the job has operations of the kind.
func (r *Run) has(op int) bool {
	switch op {
	case opRead:
		return r.job.reads()
	case opWrite:
		return r.job.writes()
	}
	return r.job.Fsync > 0 || r.job.FDataSync > 0 || r.job.EndFsync
}
