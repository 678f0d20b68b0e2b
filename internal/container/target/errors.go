package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A NotFoundError reports that no engine has a target of that name.
type NotFoundError struct {
	Ref Ref
	// Looked lists the places: "Docker at unix:///run/docker.sock".
	Looked []string
	// Unasked are the reasons why other engines could not be asked.
	Unasked []error
	// Near is a similar name, which may have been meant.
	Near string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	what := "container"
	if e.Ref.Kind == Volume {
		what = "volume"
	}
	s := fmt.Sprintf("there is no %s %s", what, e.Ref.Name)
	if e.Ref.Engine != "" {
		s += " of " + e.Ref.Engine.title()
	}
	if len(e.Looked) > 0 {
		s += "; looked in " + strings.Join(e.Looked, ", ")
	}
	if e.Near != "" {
		s += "; did you mean " + e.Near + "?"
	} else if e.Ref.Kind == Container && strings.Trim(e.Ref.Name, "0123456789") == "" && e.Ref.Engine == "" {
		s += "; for a process write pid:" + e.Ref.Name
	}
	for _, u := range sentences(e.Unasked) {
		s += "; not asked: " + u
	}
	return s
}

// Unwrap returns why other engines were not asked: a fs.ErrPermission may be among them.
func (e *NotFoundError) Unwrap() []error { return e.Unasked }

// A privateError reports that this user may not read a folder.
type privateError struct {
	// name is the folder's owner, such as "runc"; root is the folder.
	name, root string
	err        error
}

// Error implements error. It leaves out the reason, which would repeat the folder.
func (e *privateError) Error() string { return sentences([]error{e})[0] }

// Unwrap returns the reason.
func (e *privateError) Unwrap() error { return e.err }

// sentences returns the texts of errors; one sentence has all folders that this user may not read.
func sentences(errs []error) (list []string) {
	at, folders := -1, ""
	for _, err := range errs {
		var p *privateError
		if !errors.As(err, &p) {
			list = append(list, err.Error())
			continue
		}
		if at < 0 {
			at, list = len(list), append(list, "")
		} else {
			folders += ", "
		}
		folders += p.root + " (" + p.name + ")"
	}
	if at >= 0 {
		list[at] = "this user may not read " + folders + "; run as root"
	}
	return list
}

// An UnlistedError reports why some containers may be missing from a list.
type UnlistedError struct{ Reasons []error }

// Error implements error.
func (e *UnlistedError) Error() string { return strings.Join(sentences(e.Reasons), "\n") }

// Unwrap returns the reasons.
func (e *UnlistedError) Unwrap() []error { return e.Reasons }

// An AmbiguousError reports that a name means several targets.
type AmbiguousError struct {
	Ref        Ref
	Candidates []Target
}

// Error implements error.
func (e *AmbiguousError) Error() string {
	var refs []string
	for _, c := range e.Candidates {
		refs = append(refs, c.Ref())
	}
	slices.Sort(refs)
	if len(slices.Compact(slices.Clone(refs))) < len(refs) || e.Ref.Engine != "" {
		// Targets of one engine with the same name are distinguished by their ids.
		refs = nil
		for _, c := range e.Candidates {
			c.Name = c.ID
			refs = append(refs, c.Ref())
		}
		slices.Sort(refs)
	}
	return fmt.Sprintf("%s may be any of %s: name one of them", e.Ref, strings.Join(refs, ", "))
}

// A NotRunningError reports that there is nothing to limit at the moment. Target was found nevertheless: an engine may store limits
// of it.
type NotRunningError struct {
	Target Target
}

// Error implements error.
func (e *NotRunningError) Error() string {
	if e.Target.unseen != "" {
		return fmt.Sprintf("%s can't be found: %s says that it runs, but %s", e.Target.title(), e.Target.Engine, e.Target.unseen)
	}
	s := e.Target.title() + " is not running"
	if e.Target.State != "" {
		s += " (" + e.Target.State + ")"
	}
	return s + "; " + start(e.Target)
}

// start says how to start a target.
func start(t Target) string {
	id := t.ID
	if len(id) > shortID && isEngineID(id) {
		id = id[:shortID]
	}
	switch {
	case t.Kind == Unit:
		return "start it: systemctl start " + t.Name
	case t.Engine == Docker || t.Engine == Podman:
		return fmt.Sprintf("start it: %s start %s", t.Engine, t.Name)
	case t.Engine == Containerd:
		return fmt.Sprintf("start it: ctr -n %s task start %s", t.Namespace, id)
	case t.Engine == CRIO:
		return "start it: crictl start " + id
	}
	return "start it first"
}

// A GoneError reports that a target has ended since it was found.
type GoneError struct {
	Target Target
	// Reused is whether another process has its number now.
	Reused bool
}

// Error implements error.
func (e *GoneError) Error() string {
	s := e.Target.title() + " has ended"
	if e.Reused {
		s += fmt.Sprintf(": process %d is another one now", e.Target.PID)
	}
	if e.Target.Kind == Container {
		s += "; if it was restarted, name it again"
	}
	return s
}

// absentError reports that a source's engine is not on this machine. It matters only if the user named that engine.
type absentError struct{ error }

// Unwrap returns the reason.
func (e absentError) Unwrap() error { return e.error }

func isAbsent(err error) bool {
	var a absentError
	return errors.As(err, &a)
}
