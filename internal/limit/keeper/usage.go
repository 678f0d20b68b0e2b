package keeper

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

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
	mu      sync.Mutex
	sampler *watch.Sampler
	before  *watch.Sample
	// subjects are the containers, with what they were when their data was looked at.
	subjects map[*entry]metered
}

// A metered is an entry's subject.
type metered struct {
	subject *watch.Subject
	// mounts is how many mounts it had: an engine may tell of more than its files did.
	mounts int
}

// Usage is what held containers did since it was asked last, but in no less than a second: that is waited for. It is nil if none is held.
func (k *Keeper) Usage(ctx context.Context) (*watch.Interval, error) {
	m := &k.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sampler == nil {
		s, err := watch.NewSampler(k.holder.FS, k.holder.Groups)
		if err != nil {
			return nil, err
		}
		m.sampler = s
	}
	if m.before == nil || time.Since(m.before.At) > mostUsage {
		s, err := k.sample(ctx)
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
	now, err := k.sample(ctx)
	if now == nil {
		m.before = nil
		return nil, err
	}
	i, err := watch.Between(m.before, now, m.sampler.Beneath)
	m.before = now
	return i, err
}

// sample reads the counters of all that is held, nil if nothing is.
func (k *Keeper) sample(ctx context.Context) (*watch.Sample, error) {
	m := &k.meter
	known := map[*entry]metered{}
	var subjects []*watch.Subject
	for _, e := range k.all() {
		if s, ok := k.subject(ctx, e); ok {
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
	return m.sampler.Sample(subjects, nil)
}

// subject is what is measured of an entry; ok is false if nothing is held of it.
func (k *Keeper) subject(ctx context.Context, e *entry) (_ metered, ok bool) {
	e.mu.Lock()
	t, groups, held := e.target, e.groups, len(e.parts) > 0 && !e.gone
	e.mu.Unlock()
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
