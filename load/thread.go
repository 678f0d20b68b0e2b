package load

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A thread is one of the job's operating system threads. It prepares itself, waits at the gate, and loops. Its fields
// belong to it alone, except acct.progress.
type thread struct {
	run    *Run
	lane   *lane
	gen    generator
	bufs   *buffers
	async  asyncEngine // nil: psync
	slots  []slot
	free   []uint32 // slots without an I/O; a stack
	batch  []uint32
	seq    uint64 // number of writes so far, with the thread's number in the upper bits
	number int    // of the thread in the job
	// sinceSync counts writes since the last sync; sinceThink counts I/Os since the last pause.
	sinceSync  int
	sinceThink int64
	// synced: there was a sync. readSince: there were only reads since, and they must be followed by a sync too
	// (SyncReads).
	synced, readSince bool
	// dropEvery is the number of bytes in a pass, sinceDrop the number since the last drop (DropCache).
	dropEvery, sinceDrop int64
	checks               bool      // data read is verified
	more                 bool      // the job has a schedule, rounds, a trace, intervals or several priorities, or counts each file
	back                 *readBack // nil: nothing is read back

	play     *player // nil: no script
	lastSize int64   // of the I/O before
	next     uint8   // the operation that comes next, if reads and writes have their own schedules
	mix      uint64  // the generator's readShare as set by the job
	// hold is when an I/O of an open loop is due that is not due yet; holding says that there is one.
	hold    int64
	holding bool
	peer    *peer        // nil: none
	seek    *depthSearch // nil: none
	before  ThreadUsage  // usage at the start of what is counted
	out     bool         // the budget is used up
	round   int64        // the round that acct counts
	from    int64        // when that round began
	unbind  func()
	calm    func() // restores the thread's own priority; nil: nothing to restore
	// waiting: the thread waits in the kernel. away is the same for Go's race detector. See waits.
	waiting bool
	away    atomic.Bool
	glance  *glance // nil for a job without Status
	// syncing is when the current sync began; 0 if there is none.
	syncing int64
	// transferring: psync's only slot is in flight. A slot of another engine is in flight unless it is in free.
	transferring bool
	// came: the thread reached the end of its work. resort: it began the job's only I/O there. These two and ended are
	// written under Run.draining.
	came, resort bool
	ended        bool
	trace        []TracedIO
	open         *[2]interval // nil: HistEvery is 0
	hists        []HistSample
	acct         account
}

// setUp creates lanes and threads, and waits until all threads are at the gate.
func (r *Run) setUp() error {
	if err := r.job.buffersFit(availableMemory); err != nil {
		return err
	}
	size, err := r.region()
	if err != nil {
		return err
	}
	perLane, depth := 1, r.job.IODepth
	if synchronous(r.engine) {
		perLane, depth = depth, 1
	}
	r.procs = perLane * r.job.NumJobs
	raiseProcs(r.procs)
	r.lanes = newLanes(r.job, size, perLane > 1)
	ready := make(chan error)
	r.errs = make([]error, perLane*r.job.NumJobs)
	for i, l := range r.lanes {
		for k := range perLane {
			n := i*perLane + k
			t := &thread{run: r, lane: l, gen: l.generator(r.job, n), seq: uint64(n) << 40, number: n}
			if r.job.DropCache {
				t.dropEvery = l.passBytes(r.job)
			}
			t.mix = t.gen.readShare
			if r.job.Trace > 0 {
				t.trace = make([]TracedIO, 0, max(r.job.Trace/(perLane*r.job.NumJobs), 1))
			}
			if r.job.HistEvery > 0 {
				t.open, t.hists = new([2]interval), make([]HistSample, 0, max(r.job.MaxHists, 1))
			}
			r.threads = append(r.threads, t)
			r.running.Add(1)
			go t.main(depth, perLane, ready, &r.errs[n])
		}
	}
	r.left.Store(int64(len(r.threads)))
	for range r.threads {
		if e := <-ready; e != nil && err == nil {
			err = e
		}
	}
	if err == nil {
		r.describeEngine()
	}
	return err
}

// describeEngine collects what the threads' engines report about themselves. It asks all of them, because a limit on
// locked memory may affect the last thread only.
func (r *Run) describeEngine() {
	for _, t := range r.threads {
		engine := t.async
		if p, ok := engine.(*prioEngine); ok {
			engine = p.asyncEngine
		}
		if n, ok := engine.(interface{ note() string }); ok && n.note() != "" && len(r.notes) == 0 {
			r.notes = append(r.notes, n.note())
		}
		if b, ok := engine.(interface{ registered() bool }); ok && r.buffers != BuffersPlain {
			r.buffers = BuffersRegistered
			if !b.registered() {
				r.buffers = BuffersPlain
			}
		}
	}
}

// procs guards GOMAXPROCS, which several runs change.
var procs sync.Mutex

// raiseProcs lets Go run n more threads, or fewer if n is negative. Otherwise a thread in a system call would hold a
// processor that another thread needs, until Go's monitor takes it away after 20 us or more, which would reduce the
// depth.
func raiseProcs(n int) {
	if n == 0 {
		return
	}
	procs.Lock()
	defer procs.Unlock()
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)+n, 1))
}

// main is the body of the thread. The goroutine never unlocks its operating system thread, so that thread ends with it,
// and with it the timer slack that was set.
func (t *thread) main(depth, share int, ready chan<- error, fail *error) {
	defer t.run.running.Done()
	runtime.LockOSThread()
	err := t.prepare(depth, share)
	t.waits(true)
	ready <- err
	defer t.tearDown()
	<-t.run.gate
	if t.run.abort || err != nil {
		return
	}
	t.before = threadUsage()
	if t.glance != nil {
		t.glance.begin()
	}
	t.awaitStart()
	t.waits(false)
	if t.async == nil {
		debug.SetPanicOnFault(t.run.engine == MMap)
		err = t.syncLoop()
	} else {
		err = t.asyncLoop()
	}
	t.run.leave()
	if err == nil {
		err = t.lastly()
	}
	if err != nil {
		t.run.stop()
		*fail = err
	}
	t.turn()
	t.run.draining.Lock()
	defer t.run.draining.Unlock()
	t.acct.usage = threadUsage().plus(t.before, -1)
	t.acct.doneAt = t.doneAt()
	t.ended = true
	if t.glance != nil {
		t.glance.wait(true)
	}
}

// prepare creates the thread's buffers and ring.
func (t *thread) prepare(depth, share int) error {
	r := t.run
	tightenTimers()
	t.glance = newGlance(r.job)
	var err error
	if t.unbind, err = bindThread(r.job, t.number/share); err != nil {
		return err
	}
	if err = takeMemory(r.job); err != nil {
		return err
	}
	if t.calm, err = takePriority(r.job); err != nil {
		return err
	}
	if t.bufs, err = newBuffers(r.job, depth, share, t.gen.rand()^r.job.DataSeed); err != nil {
		return fmt.Errorf("buffers for iodepth=%d and bs=%d: %w", depth, r.job.maxBlock(), err)
	}
	if t.peer, err = openPeer(r.job.Peer); err != nil {
		return err
	}
	if r.job.PerFile {
		t.acct.files = make([]fileAccount, r.job.fileCount())
	}
	if r.book != nil {
		t.acct.crossed = make([]crossing, 0, depth)
	}
	t.more = r.pace.open || r.book != nil || r.prios != nil || r.job.accountsMore()
	t.seek = newDepthSearch(r.job)
	t.checks = t.bufs.unit > 0 && !r.job.mixed() && r.engine != Null
	t.back = newReadBack(r.job)
	if len(r.job.Script) > 0 {
		t.play = &player{steps: r.job.Script}
	}
	t.slots = make([]slot, depth)
	t.free = make([]uint32, depth)
	t.batch = make([]uint32, 0, depth)
	for i := range t.free {
		t.free[i] = uint32(depth - 1 - i)
		t.slots[i].walk = t.lane.start
	}
	if r.engine == Null {
		t.async = &nullEngine{slots: t.slots, out: make([]completion, 0, depth)}
		return nil
	}
	if t.async, err = newAsync(r.engine, r.files, t.slots, t.bufs); err == nil {
		t.prioritize()
	}
	return err
}

func (t *thread) tearDown() {
	if t.unbind != nil {
		t.unbind()
	}
	if t.calm != nil {
		t.calm()
	}
	anyMemory(t.run.job)
	if t.async != nil {
		t.async.close()
	}
	if t.peer != nil {
		t.peer.close()
	}
	if t.bufs != nil {
		t.bufs.close()
	}
}

// doneAt returns when the thread finished what counts.
func (t *thread) doneAt() int64 {
	now := t.run.clk.now()
	if t.run.timed {
		return min(now, t.run.end.Load())
	}
	return now
}
