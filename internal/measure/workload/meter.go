package workload

import (
	"context"
	"sync"
	"time"

	"plimsoll/hist"
	"plimsoll/load"
)

// A meter is the measured window of a named workload: it counts the operations, takes the samples, and reads the counters
// at both ends. One goroutine does the operations. With a runtime the window ends after it, as that of a block job does:
// operations in flight at its end count in the latencies but not in the rate. A window in which no operation ended lasts
// until the first one does.
type meter struct {
	start    time.Time
	end      time.Time // zero: the window lasts until the last operation has ended
	onSample func(load.Sample)
	every    time.Duration // the time between samples
	hang     func(*Result) // nil: hangs aren't reported
	stop     chan struct{}
	watching sync.WaitGroup

	mu      sync.Mutex
	win     *window
	after   *snapshot // the counters at the window's end
	wall    time.Duration
	classes []load.Class
	going   []time.Time // by class: when the running operation began; zero: none runs
	over    []int64     // by class: the bytes of operations that were in flight at the end
	last    time.Time   // when the last operation ended
	next    time.Time   // when the next sample is due
	seen    load.Sample // the sum of all samples
	samples []load.Sample
	ops     int64
	bytes   int64
}

// newMeter starts the measured window, with a runtime or without. The first class counts for the rate. hang may be nil.
func newMeter(runtime time.Duration, onSample func(load.Sample), hang func(*Result), classes ...string) *meter {
	m := &meter{every: load.SampleEvery(runtime), onSample: onSample, hang: hang, stop: make(chan struct{})}
	for _, name := range classes {
		m.classes = append(m.classes, load.Class{Name: name, Lat: new(hist.Histogram)})
	}
	m.going, m.over = make([]time.Time, len(classes)), make([]int64, len(classes))
	m.win = openWindow()
	m.start = time.Now()
	m.last, m.next = m.start, m.start.Add(m.every)
	if runtime > 0 {
		m.end = m.start.Add(runtime)
		m.watching.Go(m.watch)
	}
	return m
}

// edgeAfter is how long after the window's end a second thread reads its counters, unless an operation that ended has done
// so. It would otherwise read them during the last operation, and take a processor from it.
const edgeAfter = 10 * time.Millisecond

// hangEvery is how often the worker reports an operation that is still in flight.
const hangEvery = time.Second

// watch reads the counters at the end of the window if an operation hangs there, and reports the hang.
func (m *meter) watch() {
	wait := time.NewTimer(time.Until(m.end) + edgeAfter)
	defer wait.Stop()
	for {
		select {
		case <-m.stop:
			return
		case now := <-wait.C:
			m.mu.Lock()
			m.edge(now)
			r := m.hanging(now)
			m.mu.Unlock()
			if r != nil && m.hang != nil && now.Sub(m.end) >= hangEvery {
				m.hang(r)
			}
			wait.Reset(hangEvery)
		}
	}
}

// edge reads the counters of the window's end, once.
func (m *meter) edge(now time.Time) {
	if m.after != nil {
		return
	}
	s := takeSnapshot(false)
	m.after = &s
	m.wall = now.Round(0).Sub(m.start.Round(0))
	if m.ends(now) {
		m.wall -= now.Sub(m.end)
	}
}

// ends reports whether the window is over at now.
func (m *meter) ends(now time.Time) bool { return !m.end.IsZero() && now.After(m.end) }

// done reports whether no new operation may begin at now: the window is over, and an operation ended or is in flight in it.
func (m *meter) done(now time.Time) bool {
	return m.ends(now) && len(m.classes) > 0 && m.classes[0].Lat.Count() > 0
}

// An ended is an operation that has ended: its class and its bytes.
type ended struct {
	class int
	bytes int64
}

// A classSet is a set of classes whose operations begin: 1<<class for each.
type classSet uint

// step counts operations that ended at now, and notes those that begin.
func (m *meter) step(now time.Time, begin classSet, ends ...ended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range ends {
		c := &m.classes[e.class]
		c.Lat.Record(int64(now.Sub(m.going[e.class])))
		m.going[e.class], m.last = time.Time{}, now
		if m.ends(now) {
			c.InFlight++
			m.over[e.class] += e.bytes
			if m.ops == 0 {
				m.after = nil // The window, and so its counters, last until this operation ended.
			}
			m.edge(now)
			continue
		}
		m.add(e.class, 1, e.bytes)
	}
	for i := range m.going {
		if begin&(1<<i) != 0 {
			m.going[i] = now
		}
	}
	if m.ops > m.seen.Ops && !now.Before(m.next) && !m.ends(now) {
		m.sample(now)
	}
}

// request counts an operation of a client that keeps its own latencies.
func (m *meter) request() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.ops++
	if m.ends(now) {
		m.edge(now)
	} else if !now.Before(m.next) {
		m.sample(now)
	}
}

// add counts n operations of a class in the window. The bytes of a commit are those of its write.
func (m *meter) add(class int, n, bytes int64) {
	c := &m.classes[class]
	c.Ops += n
	c.Bytes += bytes
	if class == 0 {
		m.ops += n
	}
	if c.Name != "commit" {
		m.bytes += bytes
	}
}

// sample closes an interval.
func (m *meter) sample(now time.Time) {
	s := load.Sample{At: now.Sub(m.start), Ops: m.ops - m.seen.Ops, Bytes: m.bytes - m.seen.Bytes}
	m.seen = load.Sample{Ops: m.ops, Bytes: m.bytes}
	m.samples = append(m.samples, s)
	for !m.next.After(now) {
		m.next = m.next.Add(m.every)
	}
	if m.onSample != nil {
		m.onSample(s)
	}
}

// partial ends the window, and adds to an error how far the workload got.
func (m *meter) partial(err error) error {
	m.close()
	return &PartialError{load.Sample{At: time.Since(m.start), Ops: m.ops, Bytes: m.bytes}, err}
}

// cancelled is partial for a context that ended.
func (m *meter) cancelled(ctx context.Context) error { return m.partial(context.Cause(ctx)) }

// close ends the watch.
func (m *meter) close() {
	close(m.stop)
	m.watching.Wait()
}

// finish ends the window and returns the result.
func (m *meter) finish() *Result {
	m.close()
	now := time.Now()
	m.edge(now)
	return m.result(now)
}

// hanging is the result as it would be if the operations in flight at now never ended; nil if none of the window is in
// flight.
func (m *meter) hanging(now time.Time) *Result {
	h := meter{
		start: m.start, end: m.end, win: m.win, after: m.after, wall: m.wall, over: m.over,
		every: m.every, next: m.next, seen: m.seen, ops: m.ops, bytes: m.bytes, last: now,
	}
	h.samples = append(h.samples, m.samples...)
	any := false
	for i, c := range m.classes {
		lat := new(hist.Histogram)
		lat.Merge(c.Lat)
		c.Lat = lat
		if from := m.going[i]; !from.IsZero() && (!from.After(m.end) || m.classes[0].Lat.Count() == 0) {
			any = true
			c.Lat.Record(int64(now.Sub(from)))
			c.InFlight++
			c.AtLeast++
		}
		h.classes = append(h.classes, c)
	}
	if !any {
		return nil
	}
	return h.result(now)
}

// result returns what was measured until now. No operation runs any more, and the counters of the end have been read.
func (m *meter) result(now time.Time) *Result {
	r := &Result{IOEngine: Syscalls, Start: m.start, Elapsed: m.last.Sub(m.start), WallElapsed: m.wall}
	if m.ends(now) {
		late := max(m.last.Sub(m.end), 0)
		if m.ops > 0 || m.classes[0].AtLeast > 0 {
			r.Elapsed, r.Drained = m.end.Sub(m.start), late
		} else {
			// The window lasts until its first operation ended.
			r.WallElapsed += late
			for i := range m.classes {
				n := m.classes[i].InFlight
				m.classes[i].InFlight = 0
				m.add(i, n, m.over[i])
			}
		}
	}
	if m.ops > m.seen.Ops {
		m.sample(m.start.Add(r.Elapsed))
	}
	r.Classes, r.Samples = m.classes, m.samples
	r.between(m.win.before, *m.after)
	return r
}
