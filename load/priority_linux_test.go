package load

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestPriorityShares: of the I/Os with a share's size, the requested percentage has the share's priority and the others have the
// job's. The latencies of all priorities together are those of all I/Os.
func TestPriorityShares(t *testing.T) {
	path := written(t, 8<<20)
	own, low, high := NewPriority(BestEffort, 7), NewPriority(Idle, 2), NewPriority(BestEffort, 1)
	for _, engine := range []string{IOUring, LinuxAIO} {
		j := Job{
			RW: RandRW, BS: 4096, Filename: path, Size: 8 << 20, IODepth: 8, IOEngine: engine, Direct: true, Trace: 5000, Priority: own,
			WriteSplit: []SizeShare{{4096, 50}, {8192, 50}}, ReadSplit: []SizeShare{{4096, 100}},
			ReadPriorities:  []PriorityShare{{0, 25, low}, {0, 25, high}},
			WritePriorities: []PriorityShare{{8192, 100, high}},
		}
		res := start(t, j)
		counts := map[bool]map[Priority]int{false: {}, true: {}}
		for _, o := range res.Trace {
			counts[o.Write][o.Priority]++
			if want := map[bool]Priority{true: high, false: own}[o.Size == 8192]; o.Write && o.Priority != want {
				t.Errorf("%s: %+v, want priority %#x", engine, o, want)
			}
		}
		for _, c := range res.Classes {
			n := uint64(0)
			for i, p := range c.Priorities {
				n += p.Lat.Count()
				if i == 0 && p.Priority != own || int(p.Lat.Count()) != counts[c.Name == "write"][p.Priority] {
					t.Errorf("%s: number %d of %s is %#x with %d, traced %v", engine, i, c.Name, p.Priority, p.Lat.Count(), counts)
				}
			}
			if n != c.Lat.Count() || n == 0 {
				t.Errorf("%s: %d of %d I/Os of %s have a priority", engine, n, c.Lat.Count(), c.Name)
			}
			if c.Name == "read" {
				for _, p := range c.Priorities {
					want := map[Priority]float64{own: 0.5, low: 0.25, high: 0.25}[p.Priority]
					if got := float64(p.Lat.Count()) / float64(n); got < want-0.07 || got > want+0.07 {
						t.Errorf("%s: %.0f %% of the reads are of %#x, want %.0f %%", engine, 100*got, p.Priority, 100*want)
					}
				}
			}
		}
		text, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		var back Result
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(res.Trace, back.Trace); d != "" {
			t.Error(d)
		}
		for _, c := range back.Classes {
			both := c.clone()
			both.Merge(c)
			for i, p := range c.Priorities {
				if q := both.Priorities[i]; q.Priority != p.Priority || q.Lat.Count() != 2*p.Lat.Count() {
					t.Errorf("%s: merged %#x with %d, want twice %d", engine, q.Priority, q.Lat.Count(), p.Lat.Count())
				}
			}
		}
	}
}

// TestPriorityReachesTheKernel: the kernel checks the priority of each I/O, and refuses an unknown class; the threads have the job's
// priority.
func TestPriorityReachesTheKernel(t *testing.T) {
	path := written(t, 1<<20)
	for _, engine := range []string{IOUring, LinuxAIO} {
		j := Job{
			RW: RandRead, BS: 4096, Filename: path, Size: 1 << 20, IODepth: 4, IOEngine: engine, Direct: true, Priority: NewPriority(BestEffort, 3),
			ReadPriorities: []PriorityShare{{0, 50, NewPriority(Idle, 0)}}, ReadErrors: []int{int(unix.EINVAL)},
		}
		r := prepare(t, j)
		r.prios[opRead].all[1] = NewPriority(6, 0)
		res, err := r.Start(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		c := res.Class("read")
		if c.Failed == 0 || c.Priorities[1].Lat.Count() != 0 {
			t.Errorf("%s: %d reads of a class that there is not were refused and %d done", engine, c.Failed, c.Priorities[1].Lat.Count())
		}
		if own := int64(c.Priorities[0].Lat.Count()); c.Ops == 0 || own != c.Ops {
			t.Errorf("%s: %d of %d reads have the job's own class", engine, own, c.Ops)
		}
	}
	r := prepare(t, Job{RW: Read, BS: 4096, Filename: path, Size: 8192, IOEngine: PSync, Priority: NewPriority(Idle, 5)})
	had, _, _ := unix.Syscall(unix.SYS_IOPRIO_GET, prioWhoProcess, 0, 0)
	if had == uintptr(NewPriority(Idle, 5)) {
		t.Error("the test's own thread has the priority")
	}
	if _, err := r.Start(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestPriorityMistakes: errors in a job's priorities are reported.
func TestPriorityMistakes(t *testing.T) {
	high := NewPriority(RealTime, 0)
	for want, change := range map[string]func(*Job){
		"class is from 1 to 3":        func(j *Job) { j.Priority = 5 },
		"needs ioengine":              func(j *Job) { j.IOEngine, j.ReadPriorities = PSync, []PriorityShare{{0, 10, high}} },
		"has no meaning with rw=read": func(j *Job) { j.WritePriorities = []PriorityShare{{0, 10, high}} },
		"from 1 to 100":               func(j *Job) { j.ReadPriorities = []PriorityShare{{0, 0, high}} },
		"size 4096 are more than 100": func(j *Job) { j.ReadPriorities = []PriorityShare{{4096, 60, high}, {0, 60, high}} },
		"all sizes are more than 100": func(j *Job) { j.ReadPriorities = []PriorityShare{{0, 60, high}, {0, 60, high}} },
		"at most 64":                  func(j *Job) { j.ReadPriorities = make([]PriorityShare, 65) },
		"a level from 0 to 7":         func(j *Job) { j.ReadPriorities = []PriorityShare{{0, 10, 8}} },
		"a size must not be negative": func(j *Job) { j.ReadPriorities = []PriorityShare{{-1, 10, high}} },
	} {
		j := Job{RW: Read, BS: 4096, Filename: "f", Size: 1 << 20, IOEngine: IOUring}
		change(&j)
		err := j.Validate()
		var o *OptionError
		if !errors.As(err, &o) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
