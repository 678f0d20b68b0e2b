package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/refusal"
)

// impliedSizes are the block sizes at which a rate is put in the other unit: those of a database and of a copy.
var impliedSizes = []int64{4 << 10, 1 << 20}

// limitHow is how limits are set.
type limitHow struct {
	dry, keep bool
	// enable is what shall divide disks by weight, enableAuto for whichever can, "" to leave them.
	enable string
}

const enableAuto = "auto"

// asksIO reports whether a limit on I/O is asked for: those need a device.
func asksIO(ask limit.Ask) bool {
	return ask.Limits.IO() || ask.Limits.Has(limit.Weight) || ask.Limits.Has(limit.Latency) || len(ask.Percent) > 0 ||
		slices.ContainsFunc(ask.Remove, limit.Key.IO)
}

// refusedThere puts the words of a daemon elsewhere, which refuses a change, in the place of err, which says that it is elsewhere.
func refusedThere(err error, set limit.Limits) error {
	var there *refusal.Error
	if errors.As(err, &there) {
		if refused := engineapi.Refused(there.OS, set); refused != nil {
			return fmt.Errorf("%s: %w", there.What, refused)
		}
	}
	return err
}

// limitSet sets what was asked for.
func (a *app) limitSet(ctx context.Context, name string, where limitWhere, ask limit.Ask, how limitHow) error {
	l, err := a.newLimiter()
	if err != nil {
		return err
	}
	defer l.Close()
	s, err := l.scope(ctx, name, where, asksIO(ask))
	if err != nil {
		return refusedThere(err, ask.Limits)
	}
	change, err := a.resolved(ask, s)
	if err != nil {
		return err
	}
	apply := l.Apply
	switch {
	case how.dry:
		apply = l.Plan
	case how.keep:
		apply = l.Keep
	case how.enable != "":
		apply = a.enabling(l, how.enable)
	}
	if slices.Contains(change.Remove, limit.Weight) && !how.dry {
		apply = a.disabling(l, apply)
	}
	if !how.dry {
		apply = a.noting(l, apply)
	}
	if err := l.empty(s, change); err != nil {
		return limitError(err)
	}
	err = a.change(ctx, l, a.wide(l, apply, how.dry), s, change, where, how.dry)
	if how.keep {
		err = keepInstead(err, s, change, where)
	}
	var fault *cgroup.Fault
	if errors.As(err, &fault) && how.enable == "" && slices.Contains(fault.Keys, limit.Weight) && strings.HasPrefix(fault.Fix, "echo ") {
		// The message names the file that would have to be written; the flag writes it.
		err = &exitError{exitCannot, fmt.Errorf("%w; --enable-weights does that, for all users of the disk, and limit clear undoes it", err)}
	}
	return err
}

// enabling makes disks be divided by weight before the weight is set, and puts them back if that fails.
func (a *app) enabling(l *limiter, by string) applier {
	if by == enableAuto {
		by = ""
	}
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		w := l.Weights(a.machine())
		on, undo, err := w.Enable(ctx, s, by)
		if err != nil {
			return nil, err
		}
		done, err := l.Apply(ctx, s, change)
		if err != nil {
			return nil, errors.Join(err, undo(context.WithoutCancel(ctx)))
		}
		for _, e := range on {
			s.Notes = append(s.Notes, e.String()+", for all its users; plimsoll limit clear puts that back")
		}
		return done, nil
	}
}

// noting makes a change, and notes what was set for limit show. The limits are set, also where that can't be noted.
func (a *app) noting(l *limiter, apply applier) applier {
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		done, err := apply(ctx, s, change)
		if err != nil {
			return done, err
		}
		if bad := l.Settings(a.machine()).Note(context.WithoutCancel(ctx), s, change); bad != nil {
			s.Notes = append(s.Notes, fmt.Sprintf("plimsoll limit show won't know who set it: %v", bad))
		}
		return done, nil
	}
}

// disabling makes a change, and puts disks back that were divided by weight for one that it has removed.
func (a *app) disabling(l *limiter, apply applier) applier {
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		done, err := apply(ctx, s, change)
		if err != nil || !change.Touches(limit.Weight) {
			return done, err
		}
		off, err := l.Weights(a.machine()).Undo(ctx, s)
		for _, e := range off {
			s.Notes = append(s.Notes, fmt.Sprintf("%s is not divided by weight any more: %s has its old value again", e.Disk, e.Edits[0].File))
		}
		return done, err
	}
}

// An applier makes a change, or only plans it.
type applier func(context.Context, *hold.Scope, limit.Change) ([]hold.Done, error)
