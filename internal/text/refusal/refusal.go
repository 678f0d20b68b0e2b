// Package refusal is the answer "can't be had here": what, why, and what would help.
//
// It is a normal answer, and no failure: a kernel, an engine, a place or a file system doesn't offer what was asked for, and
// says so before anything is done. A cell of a plan is skipped with it, and the command ends with status 5.
//
// It stands below every layer that can refuse, from control groups to engines, so that all of them give the same answer.
// An error that wraps a refusal is one: errors.As finds an *Error, and errors.Is finds ErrRefused in those that are only a sentence.
package refusal

import (
	"fmt"
)

// ErrRefused is what every refusal is.
var ErrRefused error = &sentence{"can't be had here"}

// exitStatus is what a command ends with that is refused.
const exitStatus = 5

// The acts that an Error may be about.
const (
	Limited = "limited"
	Tried   = "tried"
)

// An Error is a refusal.
type Error struct {
	// Engine is the engine that refuses; "": it is this machine, or a daemon.
	Engine string
	// What can't be had: "place layer", "limit write_bps". With an Act, it is what can't be limited or tried.
	What string
	Act  string
	// Why is the reason, in the words of the kernel or the engine where it has some.
	Why string
	// Fix is what would help, or can be done instead. It may be empty.
	Fix string
	// OS is the system of a container that runs elsewhere; "": it runs here.
	OS string
}

// Error is "engine E has no WHAT: WHY; FIX", "WHAT can't be limited here: WHY; instead: FIX", or "WHAT: WHY; FIX".
func (e *Error) Error() string {
	s, fix := e.What, "; "
	switch {
	case e.Engine != "":
		s = fmt.Sprintf("engine %s has no %s", e.Engine, e.What)
	case e.Act != "":
		s, fix = fmt.Sprintf("%s can't be %s here", e.What, e.Act), "; instead: "
	}
	s += ": " + e.Why
	if e.Fix != "" {
		s += fix + e.Fix
	}
	return s
}

// Is reports that it is ErrRefused.
func (e *Error) Is(target error) bool { return target == ErrRefused }

// ExitStatus is that of what can't be done here.
func (e *Error) ExitStatus() int { return exitStatus }

// New is a refusal that is only a sentence, for errors that are wrapped and compared.
func New(text string) error { return &sentence{text} }

type sentence struct{ text string }

func (s *sentence) Error() string        { return s.text }
func (s *sentence) Is(target error) bool { return target == ErrRefused }
func (s *sentence) ExitStatus() int      { return exitStatus }
