package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
)

// A Roster keeps the list of watched subjects: all running containers, or named targets. It asks engines only when
// something may have changed.
type Roster struct {
	holder *hold.Holder
	// named are the requested targets; empty: all containers.
	named []target.Ref

	// begun is set once all named targets have been found.
	begun    bool
	subjects map[string]*Subject
	volumes  []Volume
	notes    []string

	// mu guards the fields below, which engines' events set.
	mu      sync.Mutex
	changed bool
	lost    map[string]string
	looked  time.Time
}

// again is the time after which engines are asked without an event: one may get lost.
const again = time.Minute

// NewRoster returns a Roster of the named targets, or of all containers. It asks no engine yet. With follow it
// listens to the engines' events until ctx ends.
func NewRoster(ctx context.Context, h *hold.Holder, named []target.Ref, follow bool) *Roster {
	r := &Roster{holder: h, named: named, subjects: map[string]*Subject{}, changed: true, lost: map[string]string{}}
	if follow {
		events := h.Finder.Events(ctx)
		go func() {
			for e := range events {
				r.told(e)
			}
		}()
	}
	return r
}

// told records that something changed.
func (r *Roster) told(e target.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = true
	switch e.Type {
	case target.Lost:
		r.lost[e.Source] = fmt.Sprintf("%s may miss events: %v", e.Source, e.Err)
	case target.Connected:
		delete(r.lost, e.Source)
	}
}

// stale reports, once, whether the engines have to be asked.
func (r *Roster) stale() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.changed && time.Since(r.looked) < again {
		return false
	}
	r.changed, r.looked = false, time.Now()
	return true
}

// Notes are doubts about the list, a sentence each.
func (r *Roster) Notes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	notes := slices.Clone(r.notes)
	for _, l := range r.lost {
		notes = append(notes, l)
	}
	slices.Sort(notes)
	return notes
}

// Ended reports that a subject's group is gone: the roster asks the engines whether it was restarted.
func (r *Roster) Ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = true
}

// Subjects returns the present subjects and volumes. The error is about a named target that doesn't exist or isn't
// running. If it existed before, a note says that it has ended.
func (r *Roster) Subjects(ctx context.Context) ([]*Subject, []Volume, error) {
	if r.stale() {
		if err := r.refresh(ctx); err != nil {
			return nil, nil, err
		}
	}
	out := make([]*Subject, 0, len(r.subjects))
	for _, s := range r.subjects {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Subject) int { return strings.Compare(a.Ref, b.Ref) })
	return out, r.volumes, nil
}

// refresh asks the engines.
func (r *Roster) refresh(ctx context.Context) error {
	first := !r.begun
	found, err := r.find(ctx, first)
	if err != nil {
		return err
	}
	before := r.subjects
	r.subjects = map[string]*Subject{}
	volumes := map[string]*Volume{}
	for _, t := range found {
		if t.Kind == target.Volume {
			addVolume(r.holder, volumes, t)
			continue
		}
		if !t.Running && t.PID == 0 && t.Kind == target.Container {
			continue
		}
		ref := t.Ref()
		if old := before[ref]; old != nil && old.Target.Process() == t.Process() && old.Target.ID == t.ID {
			r.subjects[ref] = old
		} else if r.subjects[ref] == nil {
			s, err := r.look(t)
			if err != nil {
				if len(r.named) > 0 && first {
					return err
				}
				r.note(fmt.Sprintf("%s is not watched: %v", ref, err))
				continue
			}
			r.subjects[ref] = s
		}
		if len(r.named) == 0 {
			addVolumesOf(r.holder, volumes, t)
		}
	}
	r.volumes = separate(volumes)
	r.begun = true
	return nil
}

// find lists the targets to watch.
func (r *Roster) find(ctx context.Context, first bool) ([]target.Target, error) {
	r.notes = nil
	if len(r.named) == 0 {
		all, err := r.holder.Finder.List(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			r.note("some containers may be missing: " + err.Error())
		}
		return slices.DeleteFunc(all, func(t target.Target) bool { return t.Elsewhere != "" }), nil
	}
	var out []target.Target
	for _, ref := range r.named {
		t, err := r.holder.Finder.Resolve(ctx, ref)
		var stopped *target.NotRunningError
		switch {
		case err != nil && (first || ctx.Err() != nil):
			return nil, err
		case errors.As(err, &stopped):
			r.note(ref.String() + " is not running")
			continue
		case err != nil:
			r.note(err.Error())
			continue
		}
		r.notes = append(r.notes, t.Notes...)
		out = append(out, t)
		for _, u := range t.Users {
			if !slices.ContainsFunc(out, func(o target.Target) bool { return o.Ref() == u.Ref() }) {
				out = append(out, u)
			}
		}
	}
	return out, nil
}

// note adds a note, once.
func (r *Roster) note(s string) {
	if !slices.Contains(r.notes, s) {
		r.notes = append(r.notes, s)
	}
}

// look makes a subject of a target.
func (r *Roster) look(t target.Target) (*Subject, error) {
	scope, err := r.holder.Look(t)
	if err != nil {
		return nil, err
	}
	s := &Subject{Ref: t.Ref(), Target: t, Groups: scope.GroupSets[0].Groups, Notes: scope.Notes, Buffered: Buffered(r.holder.Explain)}
	for _, g := range scope.Places {
		s.Places = append(s.Places, PlaceOf(g))
	}
	return s, nil
}

// Buffered is how much of the buffered writes is charged to the writer, on a device of which no more is known.
func Buffered(h *explain.Host) explain.Verdict {
	if h.IO == 2 && h.Memory == 2 || h.ChargesV1 {
		return explain.Late
	}
	return explain.Leaks
}
