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
	"path/filepath"
	"strings"

	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/nearest"
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

// A Reporter is a Session whose stages tell how far they are. Their jobs have load.Job.Status.
type Reporter interface {
	// OnStatus sets what is called, by Stage's goroutine or another, with what the stage that runs came to so far, for each Ask.
	OnStatus(func(*workload.Result))
	// Ask asks for that, and reports whether a stage runs: not while its files are made. It may be called from any goroutine. The answer
	// doesn't come if the stage ends before.
	Ask() bool
}

// A Finisher is a Session that says something itself at its end: doubts about the figures, and where they are recorded.
type Finisher interface {
	// Finish ends the session after its last stage, and says it. quiet leaves the doubts out.
	Finish(ctx context.Context, quiet bool) error
}

// Finish ends a session before a tool's own last lines, for tools whose very last line is what scripts read.
func Finish(ctx context.Context, s Session, quiet bool) error {
	if f, ok := s.(Finisher); ok {
		return f.Finish(ctx, quiet)
	}
	return nil
}

// Leave is what --destructive names, as a session's jobs take it: paths of the session. Each has to name one of
// the line's files: leave for another is a mistyped one.
func Leave(s Session, destructive, files []string) ([]string, error) {
	var leave, all []string
	for _, f := range files {
		all = append(all, s.Path(f))
	}
	for _, d := range destructive {
		p := s.Path(d)
		if !workload.Allowed(p, all) {
			return nil, Usagef("--destructive "+d, "is none of the files that it uses: %s", list(files))
		}
		leave = append(leave, p)
	}
	return leave, nil
}

// list names some files.
func list(files []string) string {
	const most = 5
	switch n := len(files); {
	case n == 0:
		return "there are none"
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), n-most)
	}
	return strings.Join(files, ", ")
}

// A FileReader reads a file that the user names, no more of it than limit bytes and one.
type FileReader func(name string, limit int64) ([]byte, error)

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

// Argument is where argument number i of a line is, counted from 0, as errors name it: "argument 3, -b4Q".
func Argument(i int, arg string) string { return fmt.Sprintf("argument %d, %s", i+1, arg) }

// Names are the files that a session's user named, by the names that they have in a place's folder: two files stay two,
// also where InPlace calls them the same. The zero value holds none.
type Names struct {
	name  map[string]string // by file, its absolute path
	taken map[string]bool
}

// InPlace returns the name of a user's file: InPlace's, with a number behind it if another file has that already. In another
// spelling it is the same file.
func (n *Names) InPlace(name string) string {
	file := name
	if !drive(name) {
		if abs, err := filepath.Abs(name); err == nil {
			file = abs
		}
	}
	if in, ok := n.name[file]; ok {
		return in
	}
	if n.name == nil {
		n.name, n.taken = map[string]string{}, map[string]bool{}
	}
	in := InPlace(name)
	for i := 2; n.taken[in]; i++ {
		in = fmt.Sprintf("%s-%d", InPlace(name), i)
	}
	n.name[file], n.taken[in] = in, true
	return in
}

// drive reports whether a path begins with a drive of Windows.
func drive(name string) bool { return len(name) > 1 && name[1] == ':' }

// InPlace is the name of a user's file in a place's folder: its path without
// drive and leading slashes, the others as underscores.
func InPlace(name string) string {
	name = strings.ReplaceAll(name, `\`, "/")
	if drive(name) {
		name = name[2:]
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	return strings.ReplaceAll(name, "/", "_")
}

// Nearest returns the word of all that is nearest to a mistyped one, "" if none is near.
func Nearest(word string, all []string) string { return nearest.Word(word, all) }
