package worker

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/workload"
)

// A pulse notices when a trial's process stands still for a reason other than its I/O: a signal, a tracer, the freezer of
// its control group, or a pause of the whole machine. The process itself can't notice: the time is lost between two of its
// instructions, and looks like a slow disk. So its agent, which is otherwise idle, looks at the process's state every
// pulseEvery, and infers from its own lateness what stopped both.
//
// A thread that waits for a CPU is late, too. That is no halt: the scheduler counts it, and the trial reports it itself
// (Result.Starved).
type pulse struct {
	pid int

	mu      sync.Mutex
	running bool
	over    bool
	halts   []workload.Halt
	last    beat
	n       int
	// continued gets SIGCONT, which marks the end of a stop by a signal that stopped the agent.
	continued chan os.Signal
	// agentOn and trialOn are the times at which a stop by a signal was over, of the agent and of the trial.
	agentOn, trialOn []time.Duration
	// waited is schedstat of the thread that beats, state is stat of the trial's first thread.
	waited, state *os.File
}

// A beat is the state at one moment.
type beat struct {
	at     time.Duration // of the monotonic clock
	waited time.Duration // how long the beating thread has waited for a CPU so far
	cpu    time.Duration // how much CPU time the trial's process has used so far
}

const (
	// pulseEvery is short enough for windows of 60 ms, and costs a processor less than 0.3 %.
	pulseEvery = 10 * time.Millisecond
	// pulseLate is the lateness from which on the agent itself must have stood still.
	pulseLate = 10 * time.Millisecond
	// signalLate is how much later a signal may be delivered: on a busy machine three threads in turn wait for a CPU first.
	signalLate = 500 * time.Millisecond
	// mostHalts bounds the halts that are kept of a process that is stopped again and again.
	mostHalts = 1000
	// tracerBeats is how many beats lie between two looks for a tracer, which take longer.
	tracerBeats = 5
)

// newPulse makes one of a trial's process.
func newPulse(pid int) *pulse { return &pulse{pid: pid} }

// begin starts the beats, which go on until end.
func (p *pulse) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running || p.over {
		return
	}
	p.running = true
	ready := make(chan struct{})
	go p.run(ready)
	<-ready
}

// run beats until the end.
func (p *pulse) run(ready chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p.continued = make(chan os.Signal, 1)
	signal.Notify(p.continued, unix.SIGCONT)
	defer signal.Stop(p.continued)
	p.waited, _ = os.Open("/proc/thread-self/schedstat")
	p.state, _ = os.Open(fmt.Sprintf("/proc/%d/stat", p.pid))
	defer p.waited.Close()
	defer p.state.Close()
	p.last = p.now()
	close(ready)
	for !p.beat() {
		ts := unix.NsecToTimespec(int64(pulseEvery))
		_ = unix.Nanosleep(&ts, nil)
	}
}

// beat looks once. It reports whether it was the last time.
func (p *pulse) beat() (over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.look()
	}
	return p.over
}

// end returns the halts.
func (p *pulse) end() []workload.Halt {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running && !p.over {
		p.late(p.now()) // The process may have stopped and continued just now.
		if n := len(p.halts); n > 0 && p.halts[n-1].Cause == workload.HaltAll && p.last.at-p.halts[n-1].To < pulseEvery {
			time.Sleep(time.Millisecond) // SIGCONT is on its way.
		}
		p.listen()
		p.explain()
	}
	p.over = true
	return p.halts
}

// now reads the state at this moment. What can't be read stays 0.
func (p *pulse) now() beat {
	b := beat{at: workload.Monotonic()}
	if f := strings.Fields(string(again(p.waited))); len(f) > 1 {
		n, _ := strconv.ParseInt(f[1], 10, 64)
		b.waited = time.Duration(n)
	}
	// The clock of another process's CPU time (clock_getcpuclockid(3): the number is the kernel's, CPUCLOCK_SCHED of its pid).
	var ts unix.Timespec
	if unix.ClockGettime(int32(^p.pid<<3|2), &ts) == nil {
		b.cpu = time.Duration(ts.Nano())
	}
	return b
}

// look compares now with the last beat.
func (p *pulse) look() {
	p.listen()
	now := p.now()
	before := p.last
	p.late(now)
	switch state := p.processState(); {
	case state == 'T':
		p.add(workload.HaltSignal, before.at, now.at)
	case state == 't':
		p.add(workload.HaltTracer, before.at, now.at)
	case p.n%tracerBeats == 0 && p.traced():
		p.add(workload.HaltTracer, now.at-tracerBeats*pulseEvery, now.at)
	case now.cpu == before.cpu && p.frozen(state):
		p.add(workload.HaltFreezer, before.at, now.at)
	}
	p.n++
}

// late adds a halt if the agent itself stood still since the last beat, and the trial with it.
func (p *pulse) late(now beat) {
	awake := pulseEvery + now.waited - p.last.waited
	idle := now.at - p.last.at - awake
	// The most CPU time that the trial can have used in the rest of the time. If it used more, it ran while only the agent
	// stood still.
	if used := now.cpu - p.last.cpu; idle > pulseLate && used < idle/2 && used <= awake*time.Duration(runtime.NumCPU()) {
		p.add(workload.HaltAll, now.at-idle, now.at)
	}
	p.last = now
}

// listen notes when a stop by a signal is over. The kernel tells a parent which of its children continued (waitid(2)), only
// if a signal had stopped it.
func (p *pulse) listen() {
	select {
	case <-p.continued:
		if len(p.agentOn) < mostHalts {
			p.agentOn = append(p.agentOn, workload.Monotonic())
		}
	default:
	}
	var on unix.Siginfo
	if unix.Waitid(unix.P_PID, p.pid, &on, unix.WCONTINUED|unix.WNOHANG, nil) == nil && on.Signo != 0 && len(p.trialOn) < mostHalts {
		p.trialOn = append(p.trialOn, workload.Monotonic())
	}
}

// explain looks at the halts in which the agent stood still. If a signal had stopped the agent, it was a halt of the trial
// only if a signal had stopped the trial, too: a trial that waits for a slow disk uses as little CPU time as a stopped one.
// Signals may be delivered before or after the halt is noticed.
func (p *pulse) explain() {
	var kept []workload.Halt
	for _, h := range p.halts {
		in := func(at time.Duration) bool { return at >= h.From && at <= h.To+signalLate }
		if h.Cause == workload.HaltAll && slices.ContainsFunc(p.agentOn, in) {
			if !slices.ContainsFunc(p.trialOn, in) {
				continue
			}
			h.Cause = workload.HaltSignal
		}
		kept = append(kept, h)
	}
	p.halts = kept
}

// add keeps a halt. One that follows the last of the same cause lengthens it.
func (p *pulse) add(cause string, from, to time.Duration) {
	n := len(p.halts)
	if n > 0 && p.halts[n-1].To > from {
		from = p.halts[n-1].To
	}
	switch {
	case to <= from:
	case n > 0 && p.halts[n-1].Cause == cause && p.halts[n-1].To == from:
		p.halts[n-1].To = to
	case n < mostHalts:
		p.halts = append(p.halts, workload.Halt{Cause: cause, From: from, To: to})
	}
}

// processState is the state of the process's first thread: a stop signal stops all threads (proc_pid_stat(5)). 0: not
// known.
func (p *pulse) processState() byte {
	b := again(p.state)
	if i := bytes.LastIndexByte(b, ')'); i >= 0 && i+2 < len(b) {
		return b[i+2]
	}
	return 0
}

// traced reports whether a tracer of this PID namespace is attached. A tracer of another namespace shows only while it
// stops the process.
func (p *pulse) traced() bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	_, rest, ok := bytes.Cut(b, []byte("\nTracerPid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return ok && string(bytes.TrimSpace(line)) != "0"
}

// frozen reports whether the freezer holds the process, by its first thread's state and the kernel function in which it
// waits. Version 2 of the control groups stops a thread on its way out of the kernel (do_freezer_trap, or get_signal, which
// contains it); so does version 1 (__refrigerator). Since Linux 6.1 version 1 also lets a thread sleep on where it is, in a
// state that nothing else uses there.
func (p *pulse) frozen(state byte) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", p.pid))
	in := string(b)
	switch {
	case strings.Contains(in, "refrigerator"), strings.Contains(in, "freezer"):
		return true
	case state == 'S':
		return in == "get_signal"
	case state == 'D':
		return strings.HasPrefix(in, "futex_") || strings.Contains(in, "nanosleep") || strings.Contains(in, "ep_poll") || strings.Contains(in, "epoll_wait")
	}
	return false
}

// again reads a small file of procfs anew.
func again(f *os.File) []byte {
	if f == nil {
		return nil
	}
	buf := make([]byte, 1024)
	n, _ := f.ReadAt(buf, 0)
	return buf[:max(n, 0)]
}
