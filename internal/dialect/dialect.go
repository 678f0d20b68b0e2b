// Package dialect is what the command lines of other tools have in common: fio, diskspd, Orion,
// dd and ab each have a package below this one, which turns a line or a file into stages of
// jobs, and the results into the output that people and programs know.
//
// A dialect does no I/O of its own. It parses, hands its stages to a Session, which runs them on the
// host, in a container or in any place, and prints. What the tool's words mean is kept, its
// faults aren't: an option that isn't supported is an error, never ignored.
package dialect

import (
	"context"
	"fmt"
	"path"
	"strings"

	"plimsoll/internal/workload"
	"plimsoll/load"
)

// A Session is where the stages of a test run, one after the other.
type Session interface {
	// Stage starts the jobs together and returns what they measured when all have
	// ended: workload.Result.Stage has one entry a job, in their order. onSample may be nil.
	Stage(ctx context.Context, name string, jobs []workload.StageJob, onSample func(load.Sample)) (*workload.Result, error)
	// Path is where a file that the user names is in the session: the path itself on
	// the host, a name in the place's folder elsewhere.
	Path(name string) string
}

// A UsageError is a line or a file that says something wrong: exit status 2.
type UsageError struct {
	// Where names the argument, or the file and line: "-b4Q", "job.fio:7".
	Where string
	Text  string
}

// Error implements error.
func (e *UsageError) Error() string { return e.Where + ": " + e.Text }

// Usagef makes a UsageError.
func Usagef(where, format string, args ...any) error {
	return &UsageError{where, fmt.Sprintf(format, args...)}
}

// InPlace is the name of a user's file in a place's folder: its path without
// drive and leading slashes, the others as underscores, so that two files stay two.
func InPlace(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if len(name) > 1 && name[1] == ':' {
		name = name[2:]
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	return strings.ReplaceAll(name, "/", "_")
}

// Nearest returns the word of all that is nearest to a mistyped one, "" if none is near:
// at most a third of its letters are other, missing or too many.
func Nearest(word string, all []string) string {
	best, least := "", len(word)/3+1
	for _, w := range all {
		if d := distance(word, w); d < least || d == least && best == "" && d <= len(word)/3 {
			best, least = w, d
		}
	}
	return best
}

// distance is how many letters differ, are missing, are too many, or are swapped with
// their neighbour (optimal string alignment).
func distance(a, b string) int {
	older, old, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for i := range old {
		old[i] = i
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			d := old[j]
			if a[i] != b[j] {
				d = min(d, old[j+1], row[j]) + 1
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, older[j-1]+1)
			}
			row[j+1] = d
		}
		older, old, row = old, row, older
	}
	return old[len(b)]
}
