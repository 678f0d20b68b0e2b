package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/text/nearest"
)

// An Error is one fault of a file.
type Error struct {
	// File, Line and Column are where it is; lines and columns count from 1. Line is 0 if
	// the fault came from a flag.
	File   string
	Line   int
	Column int
	// Flag is the flag that caused it, such as "--set blocks=x".
	Flag string
	// Message reports what is wrong and how to mend it.
	Message string
}

// Error implements error: "file:line:col: message" or "flag: message".
func (e *Error) Error() string {
	switch {
	case e.Flag != "":
		return e.Flag + ": " + e.Message
	case e.Line == 0:
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are all faults of a file, by their place in the file. errors.As finds
// each as an *Error.
type Errors []error

// MaxErrors bounds how many faults are printed; a file with more is some other
// kind of file.
const MaxErrors = 50

// Error implements error: one fault a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults.
func (e Errors) Unwrap() []error { return e }

// maxKept bounds how many faults are kept for sorting.
const maxKept = 1000

// Faults collects Errors; adding the same twice keeps one.
type Faults struct {
	File  string
	Found []*Error
	seen  map[Error]bool
	// dropped counts those behind maxKept.
	dropped int
}

func (f *Faults) Add(e Error) {
	if f.seen[e] {
		return
	}
	if len(f.Found) == maxKept {
		f.dropped++
		return
	}
	if f.seen == nil {
		f.seen = map[Error]bool{}
	}
	f.seen[e] = true
	f.Found = append(f.Found, &e)
}

// Err returns what was collected as Errors, or nil.
func (f *Faults) Err() error {
	if len(f.Found) == 0 {
		return nil
	}
	slices.SortStableFunc(f.Found, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var out Errors
	for i, e := range f.Found {
		if i == MaxErrors {
			out = append(out, &Error{File: f.File, Message: fmt.Sprintf("and %d more faults", len(f.Found)-i+f.dropped)})
			break
		}
		out = append(out, e)
	}
	return out
}

// DidYouMean returns ", did you mean X?" for the candidate most like word, or ""
// if none is near.
func DidYouMean(word string, candidates []string) string {
	best := nearest.Word(word, candidates)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", best)
}
