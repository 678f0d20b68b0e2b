package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/watch"
)

// An interval begins with the last question, unless that was less than leastUsage or more than mostUsage ago.
const (
	leastUsage = time.Second
	mostUsage  = 10 * time.Minute
)

// A meter counts the I/O of held targets from one question to the next. Between questions it reads nothing.
type meter struct {
	holder *hold.Holder
	// kept lists the targets.
	kept func() []keeper.Kept

	mu sync.Mutex
	// now is the interval that is being measured, nil if none is: everybody who asks meanwhile gets it.
	now    *measuring
	closed bool
	wg     sync.WaitGroup

	// The rest is for the goroutine that measures.
	sampler *watch.Sampler
	before  *watch.Sample
	// subjects are the held targets, as they were when their data was looked at, by key.
	subjects map[string]metered
	// volumes are those that targets use, and mounted how many mounts each of these had when they were looked at.
	volumes []watch.Volume
	mounted map[string]int
}

// A measuring is an interval that isn't over; done is closed when the rest is known.
type measuring struct {
	done     chan struct{}
	interval *watch.Interval
	err      error
}

// A metered is the subject of one target.
type metered struct {
	subject *watch.Subject
	// mounts is how many mounts it had: an engine may report more than its files did.
	mounts int
	// wrote is when its limits were changed last.
	wrote time.Time
}

// ErrLate is the error if the counters could not be read in time.
var ErrLate = errors.New("it took too long to measure; ask again")

// usage is what held targets did since the last question, but in no less than leastUsage, for which it waits. It is nil if none is held.
// Callers at the same time get the same interval. After most it ends with ErrLate. ctx is for all callers.
func (m *meter) usage(ctx context.Context, most time.Duration) (*watch.Interval, error) {
	n, err := m.join(ctx)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-n.done:
		return n.interval, n.err
	case <-late.C:
		return nil, ErrLate
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join returns the interval that is being measured, and begins one if none is.
func (m *meter) join(ctx context.Context) (*measuring, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now != nil {
		return m.now, nil
	}
	if m.closed {
		return nil, errors.New("the daemon ends")
	}
	n := &measuring{done: make(chan struct{})}
	m.now = n
	m.wg.Go(func() {
		n.interval, n.err = m.measure(ctx)
		m.mu.Lock()
		m.now = nil
		m.mu.Unlock()
		close(n.done)
	})
	return n, nil
}

// close waits until nothing is measured any more.
func (m *meter) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.wg.Wait()
}

// measure measures one interval. No two run at a time.
func (m *meter) measure(ctx context.Context) (*watch.Interval, error) {
	if m.sampler == nil {
		s, err := watch.NewSampler(m.holder.FS, m.holder.Groups)
		if err != nil {
			return nil, err
		}
		m.sampler = s
	}
	if m.before == nil || time.Since(m.before.At) > mostUsage {
		s, err := m.sample()
		if s == nil {
			return nil, err
		}
		m.before = s
	}
	wait := time.NewTimer(leastUsage - time.Since(m.before.At))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now, err := m.sample()
	if now == nil {
		m.before = nil
		return nil, err
	}
	i, err := watch.Between(m.before, now, m.sampler.Beneath)
	if i != nil {
		m.noteChanged(i, m.before.At)
	}
	m.before = now
	return i, err
}

// noteChanged notes whose limits were changed since the interval began, even if they now are what they were then.
func (m *meter) noteChanged(i *watch.Interval, since time.Time) {
	wrote := map[string]time.Time{}
	for _, k := range m.kept() {
		wrote[k.Key] = k.Wrote
	}
	for key, s := range m.subjects {
		if s.wrote.After(since) || wrote[key].After(since) {
			i.LimitsChanged(s.subject.Ref)
		}
	}
}

// sample reads the counters of all that is held, nil if nothing is.
func (m *meter) sample() (*watch.Sample, error) {
	kept := m.kept()
	known := map[string]metered{}
	var subjects []*watch.Subject
	for _, k := range kept {
		if k.Held && k.Groups != nil {
			s := m.subject(k)
			known[k.Key] = s
			subjects = append(subjects, s.subject)
		}
	}
	m.subjects = known
	if len(subjects) == 0 {
		return nil, nil
	}
	// Of several with one name, as one that was restarted just now, the first counts.
	slices.SortFunc(subjects, func(a, b *watch.Subject) int { return strings.Compare(a.Ref, b.Ref) })
	subjects = slices.CompactFunc(subjects, func(a, b *watch.Subject) bool { return a.Ref == b.Ref })
	return m.sampler.Sample(subjects, m.volumesOf(kept, subjects))
}

// volumesOf lists the volumes that the subjects use. The data of other containers on the same devices is looked at, too: the kernel counts by device.
func (m *meter) volumesOf(kept []keeper.Kept, subjects []*watch.Subject) (used []watch.Volume) {
	mounted := map[string]int{}
	var all []target.Target
	for _, k := range kept {
		if k.Target.Elsewhere == "" && slices.ContainsFunc(k.Target.Mounts, func(m target.Mount) bool { return m.Volume != "" }) {
			mounted[k.Key] = len(k.Target.Mounts)
			all = append(all, k.Target)
		}
	}
	if !maps.Equal(mounted, m.mounted) {
		m.volumes, m.mounted = watch.Volumes(m.holder, all), mounted
	}
	for _, v := range m.volumes {
		if slices.ContainsFunc(subjects, func(s *watch.Subject) bool { return slices.Contains(v.Users, s.Ref) }) {
			used = append(used, v)
		}
	}
	return used
}

// subject is what is measured of a held target.
func (m *meter) subject(k keeper.Kept) metered {
	t := k.Target
	if s, ok := m.subjects[k.Key]; ok && s.mounts == len(t.Mounts) {
		s.wrote = k.Wrote
		return s
	}
	s := &watch.Subject{Ref: t.Ref(), Target: t, Groups: k.Groups, Buffered: explain.Leaks}
	if m.holder.Explain != nil {
		s.Buffered = watch.Buffered(m.holder.Explain)
	}
	// If it ends meanwhile its data isn't known, and its counters say so.
	if scope, err := m.holder.Look(t); err == nil {
		s.Notes = scope.Notes
		for _, g := range scope.Grounds {
			s.Places = append(s.Places, watch.PlaceOf(g))
		}
	}
	return metered{s, len(t.Mounts), k.Wrote}
}
