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

// An interval begins with the last request, unless that was less than leastUsage or more than mostUsage ago.
const (
	leastUsage = time.Second
	mostUsage  = 10 * time.Minute
)

// A meter counts the I/O of limited targets from one request to the next. Between requests it reads nothing.
type meter struct {
	holder *hold.Holder
	// targets lists the targets.
	targets func() []keeper.Target

	mu sync.Mutex
	// now is the interval that is being measured, nil without one: all requests meanwhile get it.
	now    *measuring
	closed bool
	wg     sync.WaitGroup

	// The remaining fields belong to the goroutine that measures.
	sampler *watch.Sampler
	before  *watch.Sample
	// subjects are the limited targets, by key, as they were when their data was last looked at.
	subjects map[string]metered
	// volumes are the targets' volumes, and mounted is how many mounts each target had when they were looked at.
	volumes []watch.Volume
	mounted map[string]int
}

// A measuring is an unfinished interval; done is closed when its other fields are set.
type measuring struct {
	done     chan struct{}
	interval *watch.Interval
	err      error
}

// A metered is a limited target as it is measured.
type metered struct {
	subject *watch.Subject
	// mounts is how many mounts it had: an engine may report more than its files show.
	mounts int
	// wrote is when its limits were last changed.
	wrote time.Time
}

// ErrLate is the error if the counters could not be read in time.
var ErrLate = errors.New("it took too long to measure; ask again")

// usage returns the I/O of limited targets since the last request, nil if there are no such targets. It waits until the
// interval is at least leastUsage long. Callers at the same time get the same interval, which ends early with the ctx of
// the first. If it takes longer than most, the error is ErrLate.
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

// join returns the interval that is being measured, or starts one.
func (m *meter) join(ctx context.Context) (*measuring, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now != nil {
		return m.now, nil
	}
	if m.closed {
		return nil, errors.New("the daemon is ending")
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

// close waits for the measurement to end.
func (m *meter) close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.wg.Wait()
}

// measure measures one interval. Only one runs at a time.
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

// noteChanged notes the targets with limits that changed since the interval began, even if they have the old values
// again.
func (m *meter) noteChanged(i *watch.Interval, since time.Time) {
	wrote := map[string]time.Time{}
	for _, k := range m.targets() {
		wrote[k.Key] = k.Wrote
	}
	for key, s := range m.subjects {
		if s.wrote.After(since) || wrote[key].After(since) {
			i.LimitsChanged(s.subject.Ref)
		}
	}
}

// sample reads the counters of all limited targets, nil if there are none.
func (m *meter) sample() (*watch.Sample, error) {
	all := m.targets()
	known := map[string]metered{}
	var subjects []*watch.Subject
	for _, k := range all {
		if k.Limited && k.Groups != nil {
			s := m.subject(k)
			known[k.Key] = s
			subjects = append(subjects, s.subject)
		}
	}
	m.subjects = known
	if len(subjects) == 0 {
		return nil, nil
	}
	// Of several with one name, such as one that has just restarted, the first counts.
	slices.SortFunc(subjects, func(a, b *watch.Subject) int { return strings.Compare(a.Ref, b.Ref) })
	subjects = slices.CompactFunc(subjects, func(a, b *watch.Subject) bool { return a.Ref == b.Ref })
	return m.sampler.Sample(subjects, m.volumesOf(all, subjects))
}

// volumesOf lists the subjects' volumes. It includes data of other containers on the same devices, since the kernel
// counts by device.
func (m *meter) volumesOf(targets []keeper.Target, subjects []*watch.Subject) (used []watch.Volume) {
	mounted := map[string]int{}
	var all []target.Target
	for _, k := range targets {
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

// subject is a limited target as it is measured.
func (m *meter) subject(k keeper.Target) metered {
	t := k.Target
	if s, ok := m.subjects[k.Key]; ok && s.mounts == len(t.Mounts) {
		s.wrote = k.Wrote
		return s
	}
	s := &watch.Subject{Ref: t.Ref(), Target: t, Groups: k.Groups, Buffered: explain.Leaks}
	if m.holder.Explain != nil {
		s.Buffered = watch.Buffered(m.holder.Explain)
	}
	// If the target ends meanwhile, its data isn't known, and its counters show that.
	if scope, err := m.holder.Look(t); err == nil {
		s.Notes = scope.Notes
		for _, g := range scope.Places {
			s.Places = append(s.Places, watch.PlaceOf(g))
		}
	}
	return metered{s, len(t.Mounts), k.Wrote}
}
