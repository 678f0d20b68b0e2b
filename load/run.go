package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A Run is a job that is ready to start: its files are open, and its threads wait. Its methods are for one goroutine.
type Run struct {
	// OnWindow, if set before Start, is called by Start's goroutine at the beginning (true) and at the end (false) of
	// the measured window, so that counters can be read at its edges.
	//
	// Without a ramp, no I/O has begun at the beginning. With a ramp, the threads go on, and the window begins when
	// OnWindow returns, so a late call never counts too much. If OnWindow took long, it is called once more, and the
	// last call counts.
	//
	// At the end of a timed window the threads drain. If nothing completed in the window, it lasts longer (see
	// stretch), and OnWindow is called for the end once more when the threads are done.
	OnWindow func(begin bool)
	// OnSync, if set before Start, is called by a thread of the job after each of its syncs (Fsync, FDataSync), with
	// the number of writes that it has done: all of them are on stable storage. The thread waits for OnSync.
	OnSync func(thread int, writes int64)
	// OnTurn and OnRound, if set before Start, are called by Start's goroutine for each round of a job with rounds
	// (Job.Round). OnTurn is called just before a round ends, so that counters can be read there; OnRound is called
	// when all threads have handed in the round. The last round ends with the window, for which OnWindow is called
	// instead of OnTurn; its OnRound is called when all threads are done. A rest of less than half a round is no round.
	OnTurn  func(number int)
	OnRound func(Round)
	// OnRenew, if set before Start, is called by the thread of a job with a Target when the window begins again, with
	// nothing in flight.
	OnRenew func()
	// OnHang, if set before Start, is called by Start's goroutine while I/Os of a timed window are still in flight: a
	// second after the end of the window, and every second from then on. It receives the result so far, in which these
	// I/Os have the time that they have taken until now (Class.AtLeast). Start itself waits for them, because their
	// buffers can't be released before.
	OnHang func(*Result)

	job     Job
	engine  string
	notes   []string
	buffers string // as in Result
	files   []*target
	looked  []*os.File // see PrepareFiles
	clk     clock
	wall    func() time.Time // the wall clock, which may be set during the run
	threads []*thread
	lanes   []*lane

	gate    chan struct{} // closed when the threads may start
	abort   bool          // set before gate is closed: don't run
	running sync.WaitGroup
	errs    []error // one per thread
	procs   int     // by how much GOMAXPROCS was raised for the run
	used    bool

	// The window on the run's clock. start is when the threads start; it is set before the gate opens.
	start int64
	// begin is when counting begins. During a ramp it is unset, because it is not known yet.
	begin atomic.Int64
	// end is the end of the window; last is when threads stop taking up I/O. They are equal without a cool-down. Both
	// are unset while they are unknown, and are lowered to stop early.
	end, last atomic.Int64
	// timed: what completes after end isn't counted. Otherwise the window lasts until the last completion.
	timed bool
	// split: the I/Os have several sizes.
	split bool
	// unlimited: only the time ends the job.
	unlimited bool
	// syncEvery is the number of writes of a thread after which to sync, thinkEvery the number of I/Os after which to
	// pause; 0: never.
	syncEvery  int
	thinkEvery int64
	pace       pace
	ceiling    ceiling
	left       atomic.Int64 // number of threads that are not done yet
	// draining is held by a thread that counts after no more I/O is begun, and by readers of those counts.
	draining sync.Mutex
	renewing sync.Mutex  // held by a thread that begins the window again, and by readers of its counts
	idle     int         // number of threads that reached the end without an I/O in the window; guarded by draining
	stopped  atomic.Bool // the run was stopped early
	syncing  sync.Mutex  // held by Sync
	book     *book       // nil: no rounds
	flow     *Flow       // nil: in none
	prios    *priorities // nil: no I/O has its own
	// flowing is the number of threads in the flow, begun the number of I/Os.
	flowing, begun atomic.Int64
}

// Prepare validates job, opens its files and sets up everything that Start needs. The files must exist. The error is an
// *UnwrittenError if a job that reads would meet parts that were never written, a *DirectError if direct I/O is
// refused, and an *EngineError if the engine doesn't work here.
//
// Each thread of the job occupies one of Go's processors for as long as it runs, so Prepare raises runtime.GOMAXPROCS
// by their number; Close lowers it again.
func Prepare(job Job) (*Run, error) { return PrepareFiles(job, nil) }

// PrepareFiles is Prepare for a caller that has checked the job's files and holds them open. files are in the order of
// the job's, and may be fewer; nil stands for a file that was not checked. If a path leads to another file by now,
// nothing is read or written, and the error is a *ReplacedError.
func PrepareFiles(job Job, files []*os.File) (*Run, error) {
	if err := job.Validate(); err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	job = job.WithDefaults()
	if job.RandSeed == 0 {
		job.RandSeed = defaultSeed
	}
	r := &Run{job: job, looked: files, wall: time.Now, gate: make(chan struct{})}
	r.begin.Store(unset)
	r.end.Store(unset)
	r.last.Store(unset)
	r.timed = job.Runtime > 0 && !job.EndFsync && !job.EndClose
	r.unlimited = job.Runtime > 0 && !job.ByAmount() && len(job.Script) == 0
	r.syncEvery = max(job.Fsync, job.FDataSync)
	if job.ThinkTime > 0 {
		r.thinkEvery = max(job.ThinkTimeBlocks, 1)
	}
	r.pace, r.ceiling, r.split = newPace(job), newCeiling(job), job.split()
	r.prios = newPriorities(job)
	if job.Round > 0 {
		r.book = &book{full: make(chan struct{}, 1)}
	}
	if len(job.CPUNodes) > 0 {
		var err error
		if r.job.CPUs, err = nodeCPUs(job.CPUNodes); err != nil {
			return nil, err
		}
		job.CPUs = r.job.CPUs
	}
	if job.SplitCPUs && len(job.CPUs) == 0 {
		var err error
		if r.job.CPUs, err = allowedCPUs(); err != nil {
			return nil, err
		}
	}
	if err := r.open(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if err := r.setUp(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.clk = newClock() // Last, so that it waits as little as possible for Calibrate.
	return r, nil
}

// defaultSeed makes runs repeatable that don't set a seed. Its value has no meaning.
const defaultSeed = 0x706c696d736f6c6c

// Job returns the job with its defaults filled in, including the chosen engine.
func (r *Run) Job() Job {
	j := r.job
	j.IOEngine = r.engine
	return j
}

// FileSizes returns the sizes in bytes that the job's files had when they were opened, in order; nil with the null
// engine.
func (r *Run) FileSizes() []int64 {
	var all []int64
	for _, f := range r.files {
		all = append(all, f.size)
	}
	return all
}

// Start does the job: the ramp, then the measured window. If onSample is not nil, it is called once every SampleEvery.
// Start ends early when ctx is done, or when an I/O fails with an *IOError; it then returns both the error and what was
// measured. It returns when no I/O is in flight any more. A Run can be started once.
func (r *Run) Start(ctx context.Context, onSample func(Sample)) (*Result, error) {
	if r.used {
		return nil, errors.New("a run can be started only once; prepare another")
	}
	r.used = true
	res := &Result{Engine: r.engine, Clock: r.clk.source(), Buffers: r.buffers, Notes: r.notes}
	w := &watch{run: r, res: res, onSample: onSample}
	if r.job.RampTime == 0 {
		// Nothing moves yet: if startdelay is awaited first, this is the exact beginning.
		w.delay(ctx)
		w.open()
	}
	w.done = r.release()
	w.ramp(ctx)
	w.window(ctx)
	accounts := r.accounts()
	w.stretch(accounts)
	if w.rounds != nil {
		w.rounds.finish()
	}
	w.finish(accounts)
	return res, w.err(ctx)
}

// unset is a time on the run's clock that never comes.
const unset = math.MaxInt64

// release opens the gate. It returns a channel that is closed when all threads are done. Without a ramp, the window
// begins.
func (r *Run) release() <-chan struct{} {
	r.start = r.clk.now()
	if r.job.RampTime == 0 {
		r.openAt(r.start)
	} else {
		r.start += int64(r.job.StartDelay)
	}
	close(r.gate)
	done := make(chan struct{})
	go func() {
		r.running.Wait()
		close(done)
	}()
	return done
}

// openAt begins the window. It sets the end first: the threads may already be running, and what they complete after the
// end must not be counted.
func (r *Run) openAt(begin int64) {
	if r.job.Runtime > 0 {
		// Unless the run has already been stopped.
		end := begin + int64(r.job.Runtime)
		r.last.CompareAndSwap(unset, end+int64(r.job.CoolDown))
		r.end.CompareAndSwap(unset, end)
	}
	r.begin.Store(begin)
}

// End ends the run as soon as the I/Os in flight are complete. Any goroutine may call it while Start runs. It causes no
// error.
func (r *Run) End() { r.stop() }

// stop makes the threads end now, unless they would end earlier.
func (r *Run) stop() {
	r.stopped.Store(true)
	now := r.clk.now()
	lower(&r.end, now)
	lower(&r.last, now)
}

// lower sets a to at if a is higher.
func lower(a *atomic.Int64, at int64) {
	for {
		old := a.Load()
		if old <= at || a.CompareAndSwap(old, at) {
			return
		}
	}
}

// Close ends the threads and releases everything. It must also be called for a Run that was never started.
func (r *Run) Close() error {
	if !r.used {
		r.used, r.abort = true, true
		close(r.gate)
	}
	r.running.Wait()
	raiseProcs(-r.procs)
	r.procs = 0
	if !r.syncing.TryLock() {
		return nil // A sync that was given up still uses the files; they close with the process.
	}
	defer r.syncing.Unlock()
	files := r.files
	r.files = nil
	var errs []error
	for _, f := range files {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}
