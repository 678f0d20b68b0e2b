package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/steady"
	"plimsoll/internal/testkit/disktest"
)

// A valve bounds the reads of one loop device of the test's own, for everybody, by the block throttle of the root group.
type valve struct {
	t    *testing.T
	name string // of the device
	dev  string // its number
}

const valveFile = "/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device"

func newValve(t *testing.T, loop string) *valve {
	t.Helper()
	if _, err := os.Stat(valveFile); err != nil {
		t.Skip("needs the blkio controller of cgroup v1")
	}
	v := &valve{t, loop, disktest.Number(t, loop)}
	t.Cleanup(func() { v.set(0) })
	return v
}

// set allows so many reads a second; 0: any number.
func (v *valve) set(iops int) {
	if err := os.WriteFile(valveFile, fmt.Appendf(nil, "%s %d", v.dev, iops), 0); err != nil {
		v.t.Errorf("bound the reads of %s: %v", v.name, err)
	}
}

// readsUnbound is how many reads a trial's process makes before it counts as begun: of two clients, one that is started later on a busy
// machine has to have its share of the fast time.
const readsUnbound = 5000

// eachTrial calls begin soon after each trial of a state folder has begun to read, and end when it has ended. The
// function that it returns stops that.
func eachTrial(dir string, begin, end func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		begun := map[int]bool{}
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			running := map[int]bool{}
			for _, agent := range agents(dir) {
				for _, pid := range children(agent) {
					running[pid] = readsOf(pid) >= readsUnbound
				}
			}
			had := len(begun) > 0
			for pid := range begun {
				if _, ok := running[pid]; !ok {
					delete(begun, pid)
				}
			}
			if had && len(begun) == 0 {
				end()
			}
			for pid, busy := range running {
				if busy && !begun[pid] {
					if len(begun) == 0 {
						begin()
					}
					begun[pid] = true
				}
			}
		}
	}()
	return sync.OnceFunc(func() { close(done); <-ended })
}

// TestRunUntilSteady: a device that is fast until its credits are used up. Two clients go on until they are steady
// together, and only the steady rounds are in the figure, in the histograms, and in the bytes that the device, the process
// and the application moved.
func TestRunUntilSteady(t *testing.T) {
	t.Parallel()
	needRun(t)
	const slow = 300
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	v := newValve(t, loop)
	plan := `
name: settle
workloads:
  r: {rw: randread, bs: 4KiB, iodepth: 4, direct: true, size: 8MiB, runtime: 40s, steady_state: {round: 1s}}
engines: [host]
places: {dir: {path: ` + loop + `}}
clients: 2
io_engine: psync
blocks: 1
`
	dir := t.TempDir()
	stop := eachTrial(dir, func() { v.set(slow) }, func() { v.set(0) })
	defer stop()
	r := plimsoll(t, t.Context(), dir, plan, "run", "-", "--destructive", loop)
	stop()
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	wantDone(t, trials, 2)
	tr := trials[0]
	if math.Abs(tr.Value-slow) > 0.2*slow {
		t.Errorf("%.0f I/Os a second; the device allowed %d of them when it was steady", tr.Value, slow)
	}
	for i, res := range tr.Results {
		if res.Rounds == nil {
			t.Fatalf("client %d has no rounds", i+1)
		}
		if n := res.Rounds.To - res.Rounds.From; n != steady.WindowRounds || res.Rounds.From != tr.Results[0].Rounds.From || res.Rounds.From < 1 {
			t.Errorf("client %d: rounds %d to %d of %d; the first was fast", i+1, res.Rounds.From, res.Rounds.To, len(res.Rounds.Each))
		}
		if first := res.Rounds.Each[0].Ops; first < res.Ops()/steady.WindowRounds {
			t.Errorf("client %d: %d in the first round, %d in the steady ones: the test shows nothing", i+1, first, res.Ops())
		}
		c := res.Classes[0]
		if n := c.Lat.Count(); n != uint64(c.Ops+c.InFlight) {
			t.Errorf("client %d: %d operations, %d in flight and %d latencies", i+1, c.Ops, c.InFlight, n)
		}
		if res.Elapsed < 4*time.Second || res.Elapsed > 20*time.Second {
			t.Errorf("client %d: a window of %v", i+1, res.Elapsed)
		}
		if res.Worked() < res.Elapsed+time.Second/2 {
			t.Errorf("client %d: it worked for %v, the window is %v of it", i+1, res.Worked(), res.Elapsed)
		}
		// At 300 reads a second the eight in flight take 27 ms each (Little's law); before, much less.
		if mean := time.Duration(c.Lat.Mean()); mean < 15*time.Millisecond {
			t.Errorf("client %d: the mean latency is %v: that of the fast rounds is in it", i+1, mean)
		}
		app, _ := res.Bytes()
		slack := int64(2*4*2+64) * 4096
		if res.ProcRead < app-slack || res.ProcRead > app+slack {
			t.Errorf("client %d: %d bytes were read, and %d were charged to it", i+1, app, res.ProcRead)
		}
	}
	// The device's counters are those of both clients.
	app := tr.Total().AppRead
	if got := tr.Truth[0].DeviceRead; got < app*8/10 || got > app*12/10 {
		t.Errorf("the clients read %d bytes in the rounds that count, and the device %d", app, got)
	}
	for _, w := range tr.Warnings {
		if w.Check == check.NeverSteady || w.Check == check.Burst || w.Check == check.Unsteady {
			t.Errorf("it was steady: %s", w.Text)
		}
	}
	show := plimsoll(t, t.Context(), dir, "", "results", "show", "last", "--trial", tr.Key, "--block", "1")
	if want := fmt.Sprintf("the figures are of rounds %d to %d of", tr.Results[0].Rounds.From+1, tr.Results[0].Rounds.To); !strings.Contains(show.stdout, want) || !strings.Contains(show.stdout, "Steady") {
		t.Errorf("results show lacks %q:\n%s", want, show.stdout)
	}
	checkClean(t, dir)
}

// TestRunNeverSteady: a device that gets slower all the time. The run says so next to the number, in
// every form of the report and of the records.
func TestRunNeverSteady(t *testing.T) {
	t.Parallel()
	needRun(t)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	v := newValve(t, loop)
	plan := `
name: sinking
workloads:
  r: {rw: randread, bs: 4KiB, iodepth: 4, direct: true, size: 8MiB, runtime: 4s, steady_state: {round: 400ms}}
engines: [host]
places: {dir: {path: ` + loop + `}}
io_engine: psync
blocks: 1
`
	// A fifth less each 200 ms, from the beginning of each trial on. More often would hold all reads up: each change
	// begins the kernel's count anew.
	dir := t.TempDir()
	var mu sync.Mutex
	began, steps := time.Time{}, 0
	stop := eachTrial(dir, func() {
		mu.Lock()
		defer mu.Unlock()
		began, steps = time.Now(), 0
	}, func() {
		mu.Lock()
		defer mu.Unlock()
		began = time.Time{}
		v.set(0)
	})
	defer stop()
	sunk, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-sunk:
				return
			case <-time.After(10 * time.Millisecond):
			}
			mu.Lock()
			if n := int(time.Since(began) / (200 * time.Millisecond)); !began.IsZero() && n > steps && n < 40 {
				steps = n
				v.set(max(int(2000*math.Pow(0.8, float64(n))), 30))
			}
			mu.Unlock()
		}
	}()
	r := plimsoll(t, t.Context(), dir, plan, "run", "-", "--destructive", loop)
	stop()
	close(sunk)
	<-ended
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	wantDone(t, trials, 2)
	for _, tr := range trials {
		res := tr.Results[0]
		if res.Rounds == nil || res.Rounds.To != len(res.Rounds.Each) || res.Worked() < 3*time.Second {
			t.Errorf("rounds %+v after %v, want the last ones of 4 s", res.Rounds, res.Worked())
		}
		found := false
		for _, w := range tr.Warnings {
			var e struct {
				Rounds       int
				Range, Slope float64
			}
			if w.Check != check.NeverSteady {
				continue
			}
			found = true
			if err := json.Unmarshal(w.Evidence, &e); err != nil {
				t.Fatalf("evidence %s: %v", w.Evidence, err)
			}
			if w.Severity != record.Doubt {
				t.Errorf("%s %q, want a doubt", w.Severity, w.Text)
			}
			if e.Rounds != len(res.Rounds.Each) {
				t.Errorf("evidence of %d rounds, want %d", e.Rounds, len(res.Rounds.Each))
			}
			if e.Range <= steady.MaxRange && math.Abs(e.Slope) <= steady.MaxSlope {
				t.Errorf("the evidence is of a steady job: %s", w.Evidence)
			}
		}
		if !found {
			t.Errorf("no warning says that it was never steady: %+v", tr.Warnings)
		}
	}
	if !strings.Contains(unwrap(r.stdout), "Never steady: in") {
		t.Errorf("what the run prints doesn't say so:\n%s", r.stdout)
	}
	out := t.TempDir()
	for _, file := range []string{"r.txt", "r.html", "r.md", "r.json", "r.csv"} {
		if r := plimsoll(t, t.Context(), dir, "", "report", "last", "-o", filepath.Join(out, file)); r.status != exitDone {
			t.Fatalf("%s: status %d, %s", file, r.status, r.stderr)
		}
		b, err := os.ReadFile(filepath.Join(out, file))
		if err != nil || !bytes.Contains(bytes.Join(bytes.Fields(b), []byte(" ")), []byte("Never steady: in")) {
			t.Errorf("%s doesn't say so: %v, %.2000s", file, err, b)
		}
	}
	for _, format := range []string{"json", "jsonl", "csv"} {
		if r := plimsoll(t, t.Context(), dir, "", "results", "export", "last", "--format", format); !strings.Contains(r.stdout, "Never steady: in") {
			t.Errorf("%s doesn't say so:\n%.2000s", format, r.stdout)
		}
	}
	checkClean(t, dir)
}
