package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Error is one fault of a plan.
type Error struct {
	// File, Line and Column are where it is; lines and columns count from 1. Line is 0 if
	// the fault came from a flag.
	File   string
	Line   int
	Column int
	// Flag is the flag that caused it, such as "--set blocks=x".
	Flag string
	// Message says what is wrong and how to mend it.
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

// Errors are all faults of a plan, by their place in the file. errors.As finds
// each as an *Error.
type Errors []error

// maxErrors bounds how many faults are told; a file with more is some other
// kind of file.
const maxErrors = 50

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

// faults collects Errors; adding the same twice keeps one.
type faults struct {
	file string
	list []*Error
	seen map[Error]bool
	// dropped counts those behind maxKept.
	dropped int
}

func (f *faults) add(e Error) {
	if f.seen[e] {
		return
	}
	if len(f.list) == maxKept {
		f.dropped++
		return
	}
	if f.seen == nil {
		f.seen = map[Error]bool{}
	}
	f.seen[e] = true
	f.list = append(f.list, &e)
}

// err returns what was collected as Errors, or nil.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	slices.SortStableFunc(f.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var out Errors
	for i, e := range f.list {
		if i == maxErrors {
			out = append(out, &Error{File: f.file, Message: fmt.Sprintf("and %d more faults", len(f.list)-i+f.dropped)})
			break
		}
		out = append(out, e)
	}
	return out
}

// nearest returns ", did you mean X?" for the candidate most like word, or ""
// if none is near.
func nearest(word string, candidates []string) string {
	best, least := "", max(1, min(3, len(word)/2))
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d <= least && (best == "" || d < least) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", best)
}

// distance is the number of letters to insert, delete or change to make a of
// b (Levenshtein). Words far longer than any key are not looked at.
func distance(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return maxName
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
