package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"plimsoll/internal/text/nearest"
)

// Resolve finds the target of r. A target that exists but doesn't run is returned together with a *NotRunningError. Other errors are
// *NotFoundError, *AmbiguousError, *GoneError, and the reason why an engine could not be asked. A target on another machine is no
// error: its Elsewhere says so.
func (f *Finder) Resolve(ctx context.Context, r Ref) (Target, error) {
	switch r.Kind {
	case Container:
		return f.container(ctx, r)
	case Process:
		return f.process(r)
	case Cgroup:
		return f.cgroup(r)
	case Unit:
		return f.unit(ctx, r)
	case Volume:
		return f.volume(ctx, r)
	}
	return Target{}, fmt.Errorf("a target of kind %q can't be found", r.Kind)
}

// process finds the target of pid:N.
func (f *Finder) process(r Ref) (Target, error) {
	t := Target{Kind: Process, Name: strconv.Itoa(r.PID)}
	ticks, err := f.start(r.PID)
	if err != nil {
		t.PID = r.PID
		var gone *GoneError
		if err := f.gone(t, err); !errors.As(err, &gone) {
			return Target{}, err
		}
		return Target{}, fmt.Errorf("there is no process %d here; ps lists the processes", r.PID)
	}
	t.PID, t.StartTime, t.Running = r.PID, ticks, true
	t.Groups, err = f.Groups(t)
	if err != nil {
		return Target{}, err
	}
	return t, nil
}

// asked returns the sources that may have r.
func (f *Finder) asked(r Ref) []source {
	var ss []source
	for _, s := range f.sources {
		if r.Engine == "" || slices.Contains(s.engines(), r.Engine) {
			ss = append(ss, s)
		}
	}
	return ss
}

// container finds the target of a container's name or id.
func (f *Finder) container(ctx context.Context, r Ref) (Target, error) {
	answers := ask(ctx, f.asked(r), func(ctx context.Context, s source) ([]Target, error) { return s.find(ctx, r.Name) })
	for i := range answers {
		a := &answers[i]
		a.targets = slices.DeleteFunc(a.targets, func(t Target) bool {
			return r.Engine != "" && t.Engine != r.Engine || r.Namespace != "" && t.Namespace != r.Namespace
		})
	}
	t, err := choose(r, merge(answers))
	var none *NotFoundError
	if errors.As(err, &none) {
		return Target{}, f.notFound(ctx, r, answers)
	}
	if err != nil {
		return Target{}, err
	}
	for _, a := range answers {
		if a.err != nil && !isAbsent(a.err) {
			t.Notes = append(t.Notes, "whether another engine has one of this name is not known: "+a.err.Error())
		}
	}
	if !t.Running {
		return t, &NotRunningError{Target: t}
	}
	return t, nil
}

// choose picks the target that r names: the only running one, or the only one. A whole name or id takes precedence over the
// beginning of an id.
func choose(r Ref, all []Target) (Target, error) {
	for _, exact := range []int{2, 1} {
		var found, running []Target
		for _, t := range all {
			if t.answersTo(r.Name) == exact {
				found = append(found, t)
				if t.Running {
					running = append(running, t)
				}
			}
		}
		// The running container of that name is meant, not an ended one.
		if len(running) > 0 {
			found = running
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return Target{}, &AmbiguousError{Ref: r, Candidates: found}
		}
	}
	return Target{}, &NotFoundError{Ref: r}
}

// errNoEngine replaces the reasons of all engines, which would fill a page.
var errNoEngine = errors.New("no container engine was found: there is no socket of Docker or Podman, and no folder of containerd, CRI-O, runc or crun; plimsoll doctor shows what is missing")

// errNoVolumes is errNoEngine for a volume, which only some engines have.
var errNoVolumes = errors.New("no engine with volumes was found: there is no socket of Docker or Podman; plimsoll doctor shows what is missing")

// notFound returns an error that says where r was looked for.
func (f *Finder) notFound(ctx context.Context, r Ref, answers []answer) error {
	if ctx.Err() != nil {
		return fmt.Errorf("look for %s: %w", r, ctx.Err())
	}
	e := &NotFoundError{Ref: r}
	var absent []error
	for _, a := range answers {
		switch {
		case a.err == nil:
			e.Looked = append(e.Looked, a.source.what())
		case isAbsent(a.err):
			if d, ok := a.source.(*daemon); !ok || r.Engine == "" || d.expected() == r.Engine {
				absent = append(absent, a.err)
			}
		default:
			e.Unasked = append(e.Unasked, a.err)
		}
	}
	e.Unasked = append(e.Unasked, f.opt.Unasked...)
	switch {
	case len(e.Looked) > 0 || len(e.Unasked) > 0:
	case r.Engine == "" && r.Kind == Volume:
		e.Unasked = []error{errNoVolumes}
	case r.Engine == "":
		e.Unasked = []error{errNoEngine}
	default:
		// The engine that the user named is not here; then the reason matters.
		e.Unasked = absent
	}
	if len(e.Looked) > 0 {
		// Only running containers are suggested: only they can be limited.
		if all, _ := f.List(ctx); len(all) > 0 {
			var names []string
			for _, t := range all {
				if r.Engine == "" || t.Engine == r.Engine {
					names = append(names, t.Name)
				}
			}
			e.Near = nearest.Word(r.Name, names)
		}
	}
	return e
}
