package watch

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
)

// A Watcher measures interval after interval.
type Watcher struct {
	sampler *Sampler
	// roster is nil where only devices are watched.
	roster *Roster
	before *Sample
}

// New watches targets of the machine that fs shows, and all that run where none is named; with h nil devices alone. follow looks for new
// targets as it goes on.
func New(ctx context.Context, fs device.FS, h *hold.Holder, named []target.Ref, follow bool) (*Watcher, error) {
	if h == nil {
		s, err := NewSampler(fs, nil)
		return &Watcher{sampler: s}, err
	}
	s, err := NewSampler(fs, h.Groups)
	if err != nil {
		return nil, err
	}
	return &Watcher{sampler: s, roster: NewRoster(ctx, h, named, follow)}, nil
}

// sample reads one sample of the targets that are watched now.
func (w *Watcher) sample(ctx context.Context) (*Sample, error) {
	if w.roster == nil {
		return w.sampler.Sample(nil, nil)
	}
	subjects, volumes, err := w.roster.Subjects(ctx)
	if err != nil {
		return nil, err
	}
	return w.sampler.Sample(subjects, volumes)
}

// next waits until the time and returns what was done since the last sample.
func (w *Watcher) next(ctx context.Context, at time.Time) (*Interval, error) {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now, err := w.sample(ctx)
	if err != nil {
		return nil, err
	}
	i, err := Between(w.before, now, w.sampler.Beneath)
	if err != nil {
		return nil, err
	}
	w.before = now
	if w.roster != nil {
		i.Notes = append(i.Notes, w.roster.Notes()...)
	}
	for _, u := range i.Subjects {
		if u.Ended {
			w.roster.Ended()
		}
	}
	return i, nil
}

// Run measures intervals, count of them or until ctx is over, and shows each. It is an error if ctx is over before the only one.
func (w *Watcher) Run(ctx context.Context, interval time.Duration, count int, show func(*Interval) error) (err error) {
	if w.before, err = w.sample(ctx); err != nil {
		return err
	}
	at := time.Now()
	for n := 0; count == 0 || n < count; n++ {
		// Intervals that passed while the machine was suspended are skipped.
		if at = at.Add(interval); time.Since(at) > interval {
			at = time.Now().Add(interval)
		}
		i, err := w.next(ctx, at)
		if err != nil && ctx.Err() != nil {
			if count == 1 {
				return errors.New("interrupted before the interval was over")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := show(i); err != nil {
			return err
		}
	}
	return nil
}
