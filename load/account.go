package load

import (
	"sync/atomic"
	"time"

	"plimsoll/hist"
)

// An account holds what one thread has measured. While the thread runs, others read only progress.
type account struct {
	progress [2]progress // of reads and writes
	shown    int64       // when progress was last updated
	handed   [2]count    // counted before the account was last emptied (see book)
	bytes    [opCount]int64
	lat      [opCount]hist.Histogram
	response [opCount]hist.Histogram
	files    []fileAccount       // per file, if the job asks for that
	prios    [2][]hist.Histogram // per priority, if there are several
	failed   [2]int64
	failure  failure // the first error that the job went on after
	over     [opCount]overrun
	first    ending     // the read or write in over that ended first
	after    ending     // the thread's first I/O that was begun in the cool-down, after the window
	crossed  []crossing // of a job with rounds
	started  int64      // reads and writes begun, ramp included
	late     int64
	maxLate  int64
	doneAt   int64
	atPeer   int64 // time spent there
	usage    ThreadUsage
	_        [64]byte
}

// A fileAccount is what was done in one file.
type fileAccount struct {
	bytes [2]int64
	lat   [2]hist.Histogram
	over  [2]overrun
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

// showEvery is how long, in nanoseconds, a thread may hold back what it has counted. It saves an atomic store per I/O;
// what one sample misses is in the next.
const showEvery = 100_000

// publish shows others the thread's progress.
func (t *thread) publish(now int64) {
	a := &t.acct
	if now-a.shown < showEvery {
		return
	}
	a.shown = now
	a.show()
}

// show shows others everything counted so far.
func (a *account) show() {
	for op := range a.progress {
		p, all := &a.progress[op], a.counted(op)
		p.ops.Store(all.ops)
		p.bytes.Store(all.bytes)
		p.lat.Store(all.lat)
	}
}

// counted returns the thread's count of reads or writes, including those it has handed in.
func (a *account) counted(op int) count {
	h, o := a.handed[op], a.over[op]
	return count{h.ops + int64(a.lat[op].Count()) - o.n, h.bytes + a.bytes[op], h.lat + int64(a.lat[op].Sum()) - o.lat}
}

// accounts are those of all threads.
func (r *Run) accounts() []*account {
	var all []*account
	for _, t := range r.threads {
		all = append(all, &t.acct)
	}
	return all
}

// sums are the totals of the window's reads and writes: for the whole job and, with Job.PerJob, for each lane.
type sums struct {
	all   [2]count
	lanes [][2]count
}

// sum adds up the accounts of all threads.
func (r *Run) sum(res *Result, accounts []*account) (s sums) {
	var all account
	first, last := int64(-1), int64(0)
	if r.book != nil {
		// A thread that hangs may be the only one that has not handed in its round.
		r.book.mu.Lock()
		all.merge(&r.book.total)
		all.merge(&r.book.closed)
		r.book.mu.Unlock()
	}
	for _, a := range accounts {
		all.merge(a)
		all.usage = all.usage.plus(a.usage, 1)
		if first < 0 || a.doneAt < first {
			first = a.doneAt
		}
		last = max(last, a.doneAt)
	}
	res.FirstDone = time.Duration(max(first-r.begin.Load(), 0))
	res.LastDone = time.Duration(max(last-r.begin.Load(), 0))
	res.Late, res.MaxLate = all.late, time.Duration(all.maxLate)
	res.Missed, res.AtPeer = r.missed(all.started), time.Duration(all.atPeer)
	res.Classes, res.Threads = r.classes(&all), all.usage
	res.Drained = all.drained(r.end.Load())
	res.Trace, res.Written, res.Hists = r.traced(), r.written(), r.intervals()
	res.FirstError = int(all.failure.errno)
	s.all = all.readsAndWrites()
	if !r.job.PerJob {
		return s
	}
	per := len(accounts) / len(r.lanes)
	for i := range r.lanes {
		var one account
		j := JobResult{}
		for _, a := range accounts[i*per : (i+1)*per] {
			one.merge(a)
			one.usage = one.usage.plus(a.usage, 1)
			j.Done = max(j.Done, time.Duration(a.doneAt-r.begin.Load()))
		}
		s.lanes = append(s.lanes, one.readsAndWrites())
		j.Classes, j.Threads = r.classes(&one), one.usage
		for k := range one.files {
			j.Files = append(j.Files, FileResult{r.fileClasses(&one.files[k])})
		}
		res.Jobs = append(res.Jobs, j)
	}
	return s
}

// readsAndWrites returns the counts of reads and of writes.
func (a *account) readsAndWrites() (all [2]count) {
	for op := range all {
		all[op] = a.counted(op)
	}
	return all
}

// merge adds what b counted to a.
func (a *account) merge(b *account) {
	for op := range opCount {
		a.lat[op].Merge(&b.lat[op])
		a.response[op].Merge(&b.response[op])
		a.bytes[op] += b.bytes[op]
		a.over[op].add(b.over[op])
	}
	a.first, a.after = earlier(a.first, b.first), earlier(a.after, b.after)
	a.failure = a.failure.earlier(b.failure)
	for op := range a.failed {
		a.failed[op] += b.failed[op]
	}
	a.crossed = append(a.crossed, b.crossed...)
	if len(a.files) < len(b.files) {
		a.files = make([]fileAccount, len(b.files))
	}
	for i := range b.files {
		for op := range b.files[i].lat {
			a.files[i].lat[op].Merge(&b.files[i].lat[op])
			a.files[i].bytes[op] += b.files[i].bytes[op]
			a.files[i].over[op].add(b.files[i].over[op])
		}
	}
	for op := range b.prios {
		if len(a.prios[op]) < len(b.prios[op]) {
			a.prios[op] = make([]hist.Histogram, len(b.prios[op]))
		}
		for i := range b.prios[op] {
			a.prios[op][i].Merge(&b.prios[op][i])
		}
	}
	a.started += b.started
	a.atPeer += b.atPeer
	a.late += b.late
	a.maxLate = max(a.maxLate, b.maxLate)
}

// newClass returns a class with the latencies in lat, which include those of over.
func newClass(name string, bytes int64, lat *hist.Histogram, over overrun) Class {
	return Class{Name: name, Ops: int64(lat.Count()) - over.n, Bytes: bytes, InFlight: over.n, AtLeast: over.atLeast, Lat: lat}
}

// classes returns the job's kinds of operation as a counted them.
func (r *Run) classes(a *account) []Class {
	var all []Class
	for op := range opCount {
		if !r.has(op) {
			continue
		}
		c := newClass(r.opName(op), a.bytes[op], &a.lat[op], a.over[op])
		if op != opSync {
			c.Failed, c.Priorities = a.failed[op], r.latencies(op, a.prios[op])
		}
		if op != opSync && r.pace.open {
			c.Response = &a.response[op]
		}
		all = append(all, c)
	}
	return all
}

// fileClasses returns the job's reads and writes as f counted them.
func (r *Run) fileClasses(f *fileAccount) []Class {
	var all []Class
	for op := range f.lat {
		if r.has(op) {
			all = append(all, newClass(r.opName(op), f.bytes[op], &f.lat[op], f.over[op]))
		}
	}
	return all
}

// opName returns the name of an operation of the job.
func (r *Run) opName(op int) string {
	if op == opRead && r.job.discards() {
		return Trim
	}
	return opNames[op]
}

// has reports whether the job has operations of the kind.
func (r *Run) has(op int) bool {
	switch op {
	case opRead:
		return r.job.reads() || r.job.VerifyBacklog > 0
	case opWrite:
		return r.job.writes()
	}
	return r.job.syncsInScript() || r.job.callsSync()
}
