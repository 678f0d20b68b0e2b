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

// A Run is a job that is ready to start: its file is open, its threads wait. Its
// methods are for one goroutine.
type Run struct {
	// OnWindow, if set before Start, is called by Start's goroutine at the beginning (true)
	// and at the end (false) of the measured window, so that counters can be read at
	// its edges. Without a ramp nothing runs yet at the beginning. With one the threads go on, and the
	// window begins when OnWindow returns: however late it was called, nothing is counted before. Where it
	// took long it is called once more, and the last call counts. At the end of a timed window the threads drain; if
	// nothing was complete in it, the window lasts longer (see stretch), and the end is called once more when they are done.
	OnWindow func(begin bool)
	// OnSync, if set before Start, is called by a thread of the job after each of its syncs (Fsync,
	// FDataSync), with how many writes it has done: they are all on stable storage. The
	// thread waits for it.
	OnSync func(thread int, writes int64)
	// OnTurn and OnRound, if set before Start, are called by Start's goroutine for each round of a job with
	// rounds (Job.Round): OnTurn right before a round ends, so that counters can be read there, and OnRound when all
	// threads have handed it in. The last round's end is the window's, for which OnWindow is called, not OnTurn;
	// its OnRound comes when all threads are done. A rest of less than half a round is none.
	OnTurn  func(number int)
	OnRound func(Round)
	// OnRenew, if set before Start, is called by the thread of a job with a Target when the window begins again, with nothing in flight.
	OnRenew func()
	// OnHang, if set before Start, is called by Start's goroutine from a second after the end of a timed window on, and each second, as
	// long as I/Os of the window are in flight: with the result as it is by then, in which those have the time that they have taken so far
	// (Class.AtLeast). Start itself waits for them, since their buffers can't be given back before.
	OnHang func(*Result)

	job     Job
	engine  string
	notes   []string
	buffers string // as in Result
	files   []*target
	looked  []*os.File // see PrepareFiles
	clk     clock
	wall    func() time.Time // the wall clock, which may be set meanwhile
	threads []*thread
	lanes   []*lane

	gate    chan struct{} // closed when the threads may go
	abort   bool          // set before gate is closed: don't run
	running sync.WaitGroup
	errs    []error // one a thread
	procs   int     // by how much GOMAXPROCS was raised for it
	used    bool

	// The window on the run's clock. start is when the threads go; it is set before the gate opens.
	start int64
	// begin is when counting begins. In a ramp it is not known yet, and unset.
	begin atomic.Int64
	// end is the end of the window, last when threads stop taking up I/O: the same without cooldown. Both
	// are unset while they aren't known, and lowered to stop early.
	end, last atomic.Int64
	// timed: what completes after end isn't counted. Else the window lasts until the last
	// completion.
	timed bool
	// split: I/Os have several sizes.
	split bool
	// unlimited: nothing but the time ends the job.
	unlimited bool
	// syncEvery is after how many writes of a thread to sync, thinkEvery after how many I/Os
	// to pause; 0: never.
	syncEvery  int
	thinkEvery int64
	pace       pace
	ceiling    ceiling
	left       atomic.Int64 // threads that are not done yet
	// draining is held by a thread for what it counts when no I/O is begun any more, and by the reader of those counts.
	draining sync.Mutex
	renewing sync.Mutex  // held by a thread that begins the window again, and by the reader of what it counted
	idle     int         // threads that came to the end without an I/O in the window, under draining
	stopped  atomic.Bool // the run was ended before its time
	syncing  sync.Mutex  // held by Sync
	book     *book       // nil: no rounds
	flow     *Flow       // nil: in none
	prios    *priorities // nil: no I/O has one of its own
	// flowing threads are in the flow, and begun I/Os.
	flowing, begun atomic.Int64
}

// Prepare validates job, opens its file and sets up everything that Start needs.
// The file must exist. It is an *UnwrittenError if a job that reads would meet parts
// that were never written, a *DirectError if direct I/O is refused, an
// *EngineError if the engine doesn't work here.
//
// Each thread of the job takes one of Go's processors for as long as it runs, so Prepare
// raises runtime.GOMAXPROCS by their number; Close sets it back.
func Prepare(job Job) (*Run, error) { return PrepareFiles(job, nil) }

// PrepareFiles is Prepare for a caller that has checked the job's files and holds them open. files are in the order of the
// job's, and may be fewer; nil stands for one that was not checked. Nothing is read or written where a path leads to another
// file meanwhile: that is a *ReplacedError.
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
	r.clk = newClock() // Last: the longer ago Calibrate was called, the shorter is its wait.
	return r, nil
}

// defaultSeed makes runs repeatable that don't ask for a seed. Its value means nothing.
const defaultSeed = 0x706c696d736f6c6c

// Job returns the job with its defaults filled in, and the engine that was chosen.
func (r *Run) Job() Job {
	j := r.job
	j.IOEngine = r.engine
	return j
}

// FileSizes are the sizes in bytes of the job's files when they were opened, in their
// order; nil with the null engine.
func (r *Run) FileSizes() []int64 {
	var all []int64
	for _, f := range r.files {
		all = append(all, f.size)
	}
	return all
}

// Start does the job: the ramp, then the measured window. It calls onSample, if not nil,
// once each SampleEvery. When ctx is done it ends early and returns what was measured together with
// ctx's error; so it does when an I/O fails, with an *IOError. It returns
// when no I/O is in flight any more. A Run can be started once.
func (r *Run) Start(ctx context.Context, onSample func(Sample)) (*Result, error) {
	if r.used {
		return nil, errors.New("a run can be started only once; prepare another")
	}
	r.used = true
	res := &Result{Engine: r.engine, Clock: r.clk.source(), Buffers: r.buffers, Notes: r.notes}
	w := &watch{run: r, res: res, onSample: onSample}
	if r.job.RampTime == 0 {
		// Nothing moves yet: this is the exact beginning, if startdelay is awaited before.
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

// release opens the gate; the channel is closed when all threads are done. Without a ramp the
// window begins.
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

// openAt begins the window. The end comes first: threads may go on already, and what they
// complete after it must not be counted.
func (r *Run) openAt(begin int64) {
	if r.job.Runtime > 0 {
		// Unless the run was stopped already.
		end := begin + int64(r.job.Runtime)
		r.last.CompareAndSwap(unset, end+int64(r.job.CoolDown))
		r.end.CompareAndSwap(unset, end)
	}
	r.begin.Store(begin)
}

// End ends the run as soon as the I/Os in flight are complete. It may be called by any goroutine while Start runs, and
// is no error.
func (r *Run) End() { r.stop() }

// stop makes the threads end now, if they would not have ended before.
func (r *Run) stop() {
	r.stopped.Store(true)
	now := r.clk.now()
	lower(&r.end, now)
	lower(&r.last, now)
}

// lower sets a to at if it is higher.
func lower(a *atomic.Int64, at int64) {
	for {
		old := a.Load()
		if old <= at || a.CompareAndSwap(old, at) {
			return
		}
	}
}

// Close ends the threads and gives everything back. A Run that was never started
// needs it too.
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
