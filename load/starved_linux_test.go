package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A frozen is a job whose threads are all stopped from before its window begins until after the window has ended, and its result.
type frozen struct {
	Job Job
	// Ends ends the job early, while they are stopped.
	Ends bool
	// Held is how long they stay stopped after the window.
	Held   time.Duration
	Result *Result
	Rounds []Round
	// Hung are the results of a job that hangs.
	Hung []*Result
}

// runFrozen is the child that does the job on its standard input. Its lines say when its threads may be stopped, with their numbers,
// and when they may run again.
func runFrozen(string) (any, error) {
	in := bufio.NewReader(os.Stdin)
	text, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var f frozen
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	r, err := Prepare(f.Job)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	stopped, over := false, false
	r.OnWindow = func(begin bool) {
		switch {
		case !begin:
			if !over { // It is called once more when the threads are done.
				time.AfterFunc(f.Held, func() { fmt.Println("over") })
			}
			over = true
		case !stopped:
			stopped = true
			fmt.Println(boundTo(f.Job.CPUs[0]))
			_, err = in.ReadString('\n')
			if f.Ends {
				time.AfterFunc(f.Job.Runtime/4, r.End)
			}
		}
	}
	r.OnHang = func(res *Result) { f.Hung = append(f.Hung, res) }
	r.OnRound = func(o Round) { f.Rounds = append(f.Rounds, o) }
	res, startErr := r.Start(context.Background(), nil)
	if startErr != nil {
		err = startErr
	}
	f.Result = res
	return f, err
}

// boundTo returns the numbers of this process's threads that run on one processor only.
func boundTo(cpu int) string {
	var all []string
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		var cpus unix.CPUSet
		id, _ := strconv.Atoi(task.Name())
		// The kernel's own threads for io_uring can't be traced.
		name, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/comm")
		if strings.HasPrefix(string(name), "iou-") {
			continue
		}
		if unix.SchedGetaffinity(id, &cpus) == nil && cpus.Count() == 1 && cpus.IsSet(cpu) {
			all = append(all, task.Name())
		}
	}
	return strings.Join(all, " ")
}

// do does the job in a child whose threads are stopped.
func (f *frozen) do(t *testing.T, threads int) {
	t.Helper()
	for range 10 {
		if f.try(t, threads) {
			return
		}
	}
	t.Fatal("the threads were stopped in the runtime, ten times")
}

// tooLong is how long a child may take until its window is over.
const tooLong = time.Second

// try stops the threads as a debugger does. It reports whether the child ran on without them: a thread that is stopped while it
// holds a lock of Go's runtime stops the others.
func (f *frozen) try(t *testing.T, threads int) bool {
	t.Helper()
	runtime.LockOSThread() // It is the tracer.
	defer runtime.UnlockOSThread()
	in, lines, end := f.start(t)
	defer end()
	var held []int
	release := func() {
		for _, id := range held {
			if err := unix.PtraceDetach(id); err != nil {
				t.Errorf("thread %d: %v", id, err)
			}
		}
		held = nil
	}
	defer release() // Before the end of the test, or the child could not be waited for.
	for _, name := range strings.Fields(<-lines) {
		id, _ := strconv.Atoi(name)
		if err := unix.PtraceAttach(id); err != nil {
			t.Fatalf("thread %d: %v", id, err)
		}
		if _, err := unix.Wait4(id, nil, unix.WALL, nil); err != nil {
			t.Fatalf("thread %d: %v", id, err)
		}
		held = append(held, id)
	}
	if len(held) != threads {
		t.Fatalf("%d threads are stopped, want %d", len(held), threads)
	}
	fmt.Fprintln(in, "go")
	select {
	case s := <-lines:
		if s != "over\n" {
			t.Fatalf("the child says %q", s)
		}
	case <-time.After(tooLong + f.Held):
		return false
	}
	release()
	var did frozen // The job's slices are those of other tests, too.
	if err := json.Unmarshal([]byte(<-lines), &did); err != nil {
		t.Fatal(err)
	}
	f.Result, f.Rounds, f.Hung = did.Result, did.Rounds, did.Hung
	return true
}

// start starts the child; lines are its output, and end ends it.
func (f *frozen) start(t *testing.T) (in io.Writer, lines <-chan string, end func()) {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	// While a thread is stopped, Go can't stop the world for its garbage collector.
	cmd.Env = append(os.Environ(), "LOAD_TEST_CHILD=frozen", "GOGC=off")
	cmd.Stderr = os.Stderr
	w, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	each := make(chan string, 3) // All of its output, so that it never waits for a reader.
	go func() {
		defer close(each)
		for r := bufio.NewReader(out); ; {
			s, err := r.ReadString('\n')
			if err != nil {
				return
			}
			each <- s
		}
	}()
	fmt.Fprintf(w, "%s\n", text)
	return w, each, func() {
		cmd.Process.Kill()
		for range each {
		}
		cmd.Wait()
	}
}

// TestStarvedThreads: if no thread of the job runs in the window, so that no I/O begins, the window lasts until one I/O has ended.
// Before, the result had no I/O, and the trial failed.
func TestStarvedThreads(t *testing.T) {
	cpus, err := allowedCPUs()
	if err != nil || len(cpus) < 2 {
		t.Skipf("needs two processors: %v, %v", cpus, err)
	}
	const window, rate = 60 * time.Millisecond, 100
	for _, engine := range append(realEngines(), MMap, Null) {
		for name, j := range map[string]Job{
			"closed": {RW: RandRead},
			"budget": {RW: RandWrite, NumberIOs: 1000},
			"open":   {RW: RandRead, RateIOPS: rate},
			"ramp":   {RW: RandWrite, RateIOPS: rate, RampTime: 30 * time.Millisecond},
			"rounds": {RW: RandRead, Round: 40 * time.Millisecond},
			"cool":   {RW: RandRead, CoolDown: 50 * time.Millisecond},
			// Nothing is done in the window; after it, all I/Os that were due in it are done.
			"open-rounds": {RW: RandRead, RateIOPS: rate, Round: 40 * time.Millisecond},
			"open-cool":   {RW: RandRead, RateIOPS: rate, CoolDown: 50 * time.Millisecond},
		} {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				j.Size = 1 << 20
				if engine != Null {
					needEngine(t, engine)
					j.Filename = written(t, j.Size)
				}
				j.IOEngine, j.IODepth, j.NumJobs, j.Runtime, j.CPUs = engine, 2, 2, window, cpus[:1]
				threads := j.NumJobs
				if synchronous(engine) {
					threads *= j.IODepth
				}
				f := frozen{Job: j}
				f.do(t, threads)
				r := f.Result
				// In a ramp a thread may be stopped in the middle of an I/O, which then is in flight in the window.
				if n := r.InFlight(); r.Ops() != 1 || name != "ramp" && n != 0 {
					t.Errorf("%d I/Os, and %d in flight, want one I/O", r.Ops(), n)
				}
				if r.Elapsed < window {
					t.Errorf("it ended after %v, want at least %v", r.Elapsed, window)
				}
				if n := len(r.Samples); n == 0 || r.Samples[n-1].Ops != 1 {
					t.Errorf("the samples are %+v, want the I/O in the last", r.Samples)
				}
				if j.Round > 0 {
					if len(f.Rounds) == 0 {
						t.Fatal("there is no round")
					}
					if last := f.Rounds[len(f.Rounds)-1]; last.To != r.Elapsed || last.Classes[0].Ops != 1 {
						t.Errorf("the last round is %+v, want the I/O in it, and that it ends after %v", last, r.Elapsed)
					}
				}
				if lat := time.Duration(r.Classes[0].Lat.Max()); name == "closed" && lat > r.Elapsed-window {
					t.Errorf("the I/O took %v, though it was begun after %v of %v", lat, window, r.Elapsed)
				}
				if !j.OpenLoop() {
					return
				}
				if late := time.Duration(r.Classes[0].Response.Max()); name == "open" && (late < window || r.Late == 0) {
					t.Errorf("the I/O ended %v after its time, and %d were late", late, r.Late)
				}
				// Four threads start the I/Os that came due up to 10 ms after the beginning.
				if late := time.Duration(r.Classes[0].Response.Max()); name == "open-cool" && late < r.Elapsed-20*time.Millisecond {
					t.Errorf("the I/O was due at the beginning and ended after %v, and its response time is %v", r.Elapsed, late)
				}
				if n := int64(2 * rate * window / time.Second); name == "open" && r.Missed != n-1 {
					t.Errorf("%d I/Os are missed, want %d", r.Missed, n-1)
				}
			})
		}
	}
	t.Run("ended", func(t *testing.T) {
		f := frozen{Job: Job{RW: Read, IOEngine: Null, Size: 1 << 20, Runtime: window, CPUs: cpus[:1]}, Ends: true}
		if f.do(t, 1); f.Result.Ops() != 0 || f.Result.Elapsed >= window {
			t.Errorf("%d I/Os in %v, after the job was ended", f.Result.Ops(), f.Result.Elapsed)
		}
	})
}

// TestStarvedHang: an I/O that begins after a window without any, and hangs, is in flight.
func TestStarvedHang(t *testing.T) {
	r := prepare(t, Job{RW: Read, IOEngine: Null, Size: 1 << 20, Runtime: time.Hour})
	now := r.clk.now()
	r.begin.Store(now - 2)
	lower(&r.end, now-1)
	lower(&r.last, now-1)
	th := r.threads[0]
	if _, begin := th.mustBeginOne(); !begin {
		t.Fatal("no I/O is begun")
	}
	th.arm(th.take(), now, 0, true)
	var a account
	if !th.giveUp(&a, now+5) || !slices.Equal([]overrun{{1, 1, 5}, {}, {}}, a.over[:]) {
		t.Errorf("in flight is %+v", a.over)
	}
	if _, begin := th.mustBeginOne(); begin {
		t.Error("a second I/O is begun")
	}
}
