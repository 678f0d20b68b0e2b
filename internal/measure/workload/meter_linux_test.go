package workload

import (
	"testing"
	"time"

	"plimsoll/load"
)

// ended20 returns a meter whose window of 20 ms began at start and is over now, with that many commits done.
func ended20(t *testing.T, commits int) *meter {
	t.Helper()
	m := newMeter(20*time.Millisecond, nil, nil, "commit", "write", "sync")
	m.step(m.start, 1<<0|1<<1)
	for i := range commits {
		at := m.start.Add(time.Duration(i+1) * time.Millisecond)
		m.step(at, 1<<2, ended{1, 100})
		m.step(at.Add(time.Millisecond/2), 1<<0|1<<1, ended{2, 0}, ended{0, 100})
	}
	time.Sleep(time.Until(m.end) + time.Millisecond)
	return m
}

// TestMeterInFlight: an operation in flight at the window's end counts in the latencies, and not in the rate, nor in the samples.
func TestMeterInFlight(t *testing.T) {
	m := ended20(t, 5)
	m.step(m.start.Add(15*time.Millisecond), 1<<2, ended{1, 100})
	last := m.start.Add(500 * time.Millisecond)
	m.step(last, 1<<0|1<<1, ended{2, 0}, ended{0, 100})
	if !m.done(last) {
		t.Error("the window goes on")
	}
	r := m.finish()
	checkClasses(t, r, load.Class{Name: "commit", Ops: 5, Bytes: 500}, load.Class{Name: "write", Ops: 6, Bytes: 600}, load.Class{Name: "sync", Ops: 5})
	checkSamples(t, r, r.Samples, 5, 600)
	got := [...]time.Duration{r.Elapsed, r.Drained}
	if want := [...]time.Duration{20 * time.Millisecond, 480 * time.Millisecond}; got != want {
		t.Errorf("the window and the rest took %v, want %v", got, want)
	}
	if most := time.Duration(r.Classes[0].Lat.Max()); r.InFlight() != 1 || most < 490*time.Millisecond {
		t.Errorf("%d in flight, at most %v", r.InFlight(), most)
	}
	if d := r.WallElapsed - r.Elapsed; d < -10*time.Millisecond || d > 10*time.Millisecond {
		t.Errorf("%v by the wall clock", r.WallElapsed)
	}
}

// TestMeterStretches: a window in which nothing was complete lasts until its first operation ended.
func TestMeterStretches(t *testing.T) {
	m := ended20(t, 0)
	if m.done(time.Now()) {
		t.Error("the window is over without an operation")
	}
	m.step(m.start.Add(300*time.Millisecond), 1<<2, ended{1, 100})
	m.step(m.start.Add(500*time.Millisecond), 0, ended{2, 0}, ended{0, 100})
	r := m.finish()
	checkClasses(t, r, load.Class{Name: "commit", Ops: 1, Bytes: 100}, load.Class{Name: "write", Ops: 1, Bytes: 100}, load.Class{Name: "sync", Ops: 1})
	checkSamples(t, r, r.Samples, 1, 100)
	if r.Elapsed != 500*time.Millisecond || r.InFlight() != 0 || r.Drained != 0 {
		t.Errorf("%v, drained %v, %d in flight", r.Elapsed, r.Drained, r.InFlight())
	}
}

// TestMeterHangs: an operation that hangs is reported each second, with the time that it has taken so far.
func TestMeterHangs(t *testing.T) {
	told := make(chan *Result, 8)
	m := newMeter(20*time.Millisecond, nil, func(r *Result) { told <- r }, "commit", "write", "sync")
	m.step(m.start, 1<<0|1<<1)
	at := m.start.Add(5 * time.Millisecond)
	m.step(at, 1<<2, ended{1, 100})
	m.step(at, 1<<0|1<<1, ended{2, 0}, ended{0, 100})
	m.step(at, 1<<2, ended{1, 100})
	for _, least := range []time.Duration{time.Second, 2 * time.Second} {
		r := <-told
		checkClasses(t, r, load.Class{Name: "commit", Ops: 1, Bytes: 100}, load.Class{Name: "write", Ops: 2, Bytes: 200}, load.Class{Name: "sync", Ops: 1})
		c := r.Classes[0]
		got := [...]int64{c.AtLeast, c.InFlight, r.AtLeast(), int64(r.Elapsed)}
		if want := [...]int64{1, 1, 2, int64(20 * time.Millisecond)}; got != want {
			t.Errorf("commits that hang and in flight, all that hang, and the window are %d, want %d", got, want)
		}
		if most := time.Duration(c.Lat.Max()); most < least {
			t.Errorf("at most %v, want %v", most, least)
		}
	}
	m.step(time.Now(), 0, ended{2, 0}, ended{0, 100})
	if r := m.finish(); r.AtLeast() != 0 || r.InFlight() != 1 || r.Drained < 2*time.Second {
		t.Errorf("%d never ended, %d in flight, drained %v", r.AtLeast(), r.InFlight(), r.Drained)
	}
}

// TestMeterStarved: a worker that comes to its first operation only after the window has one that lasts until that has ended.
func TestMeterStarved(t *testing.T) {
	for _, kind := range []Kind{Append, WAL, Tree} {
		r, err := Prepare(t.Context(), Spec{Kind: kind, Count: 50, Runtime: time.Nanosecond}, Folders{Work: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Run(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		c := res.Classes[0]
		got := [...]int64{c.Ops, c.InFlight, int64(c.Lat.Count()), int64(len(res.Samples))}
		if want := [...]int64{1, 0, 1, 1}; got != want {
			t.Errorf("%s: the %ss, those in flight, latencies and samples are %d, want %d", kind, c.Name, got, want)
		}
		if most := time.Duration(c.Lat.Max()); res.Elapsed < most/2 {
			t.Errorf("%s: a window of %v, and a latency of %v", kind, res.Elapsed, most)
		}
	}
	m := ended20(t, 0)
	m.going = []time.Time{m.end.Add(time.Millisecond), {}, {}}
	m.edge(time.Now())
	if r := m.hanging(m.end.Add(time.Second)); r == nil || r.Classes[0].AtLeast != 1 || r.Classes[0].Ops != 0 {
		t.Errorf("an operation that was begun after the window, and hangs: %+v", r)
	}
	m.finish()
}
