package keeper

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
	"plimsoll/internal/watch"
)

// How long an interval is that the state tells of: from the last time that somebody asked, unless that is too short or too long ago.
const (
	leastUsage = time.Second
	mostUsage  = 10 * time.Minute
)

// A meter counts what the held containers do, from one question to the next: nothing is read while nobody asks.
type meter struct {
	mu sync.Mutex
	// now is the interval that is being measured, nil if none is: all who ask meanwhile are told of it.
	now *measuring

	// What follows is for who measures.
	sampler *watch.Sampler
	before  *watch.Sample
	// subjects are the containers, with what they were when their data was looked at.
	subjects map[*entry]metered
	// volumes are those that containers use, and mounted how many mounts each of these had when they were looked at.
	volumes []watch.Volume
	mounted map[*entry]int
}

// A measuring is an interval that isn't over; done is closed when the rest is known.
type measuring struct {
	done     chan struct{}
	interval *watch.Interval
	err      error
}

// A metered is an entry's subject.
type metered struct {
	subject *watch.Subject
	// mounts is how many mounts it had: an engine may tell of more than its files did.
	mounts int
}

// ErrLate is the error where what containers do is not known in time.
var ErrLate = errors.New("it took too long to measure; ask again")

// Usage is what held containers did since it was asked last, but in no less than a second: that is waited for. It is nil if none is held.
// Those who ask at the same time get the same. After most it ends with ErrLate. ctx is for all who ask.
func (k *Keeper) Usage(ctx context.Context, most time.Duration) (*watch.Interval, error) {
	k.meter.mu.Lock()
	n := k.meter.now
	if n == nil {
		n = &measuring{done: make(chan struct{})}
		goes := k.spawn(func() {
			n.interval, n.err = k.measure(ctx)
			k.meter.mu.Lock()
			k.meter.now = nil
			k.meter.mu.Unlock()
			close(n.done)
		})
		if !goes {
			k.meter.mu.Unlock()
			return nil, errors.New("the keeper ends")
		}
		k.meter.now = n
	}
	k.meter.mu.Unlock()
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

// measure measures one interval; one at a time does.
func (k *Keeper) measure(ctx context.Context) (*watch.Interval, error) {
	m := &k.meter
	if m.sampler == nil {
		s, err := watch.NewSampler(k.holder.FS, k.holder.Groups)
		if err != nil {
			return nil, err
		}
		m.sampler = s
	}
	if m.before == nil || time.Since(m.before.At) > mostUsage {
		s, err := k.sample()
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
	now, err := k.sample()
	if now == nil {
		m.before = nil
		return nil, err
	}
	i, err := watch.Between(m.before, now, m.sampler.Beneath)
	if i != nil {
		k.noteChanged(i, m.before.At)
	}
	m.before = now
	return i, err
}

// noteChanged notes whose limits were changed since the interval began, also if they are now what they were then.
func (k *Keeper) noteChanged(i *watch.Interval, since time.Time) {
	end := time.Now().Add(busyWait)
	for e, s := range k.meter.subjects {
		if e.view(end).wrote.After(since) {
			i.LimitsChanged(s.subject.Ref)
		}
	}
}

// sample reads the counters of all that is held, nil if nothing is.
func (k *Keeper) sample() (*watch.Sample, error) {
	m, end := &k.meter, time.Now().Add(busyWait)
	known := map[*entry]metered{}
	var subjects []*watch.Subject
	views := map[*entry]*view{}
	for _, e := range k.all() {
		views[e] = e.view(end)
		if s, ok := k.subject(e, views[e]); ok {
			known[e] = s
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
	return m.sampler.Sample(subjects, k.volumes(views, subjects))
}

// volumes are those that the subjects use. What other containers have on the same devices is looked at, too: the kernel counts by device.
func (k *Keeper) volumes(views map[*entry]*view, subjects []*watch.Subject) (used []watch.Volume) {
	mounted := map[*entry]int{}
	for e, v := range views {
		if v.target.Elsewhere == "" && slices.ContainsFunc(v.target.Mounts, func(m target.Mount) bool { return m.Volume != "" }) {
			mounted[e] = len(v.target.Mounts)
		}
	}
	m := &k.meter
	if !maps.Equal(mounted, m.mounted) {
		var all []target.Target
		for e := range mounted {
			all = append(all, views[e].target)
		}
		m.volumes, m.mounted = watch.Volumes(k.holder, all), mounted
	}
	for _, v := range m.volumes {
		if slices.ContainsFunc(subjects, func(s *watch.Subject) bool { return slices.Contains(v.Users, s.Ref) }) {
			used = append(used, v)
		}
	}
	return used
}

// subject is what is measured of an entry; ok is false if nothing is held of it.
func (k *Keeper) subject(e *entry, v *view) (_ metered, ok bool) {
	t, groups, held := v.target, v.groups, v.held
	if !held || groups == nil {
		return metered{}, false
	}
	if s, ok := k.meter.subjects[e]; ok && s.mounts == len(t.Mounts) {
		return s, true
	}
	s := &watch.Subject{Ref: t.Ref(), Target: t, Groups: groups, Buffered: explain.Leaks}
	if k.holder.Explain != nil {
		s.Buffered = watch.Buffered(k.holder.Explain)
	}
	// One that ends meanwhile has no data that is known, and its counters say so.
	if scope, err := k.holder.Look(t); err == nil {
		s.Notes = scope.Notes
		for _, g := range scope.Grounds {
			s.Places = append(s.Places, watch.PlaceOf(g))
		}
	}
	return metered{s, len(t.Mounts)}, true
}
