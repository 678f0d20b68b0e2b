// Package dialect holds the common parts of the packages that read other tools' command lines: fio, diskspd, Orion,
// dd and ab. Each of them turns a command line or a file into stages of jobs, and prints the results in the tool's
// own format.
//
// A dialect does no I/O of its own. It parses, hands its stages to a Session, which runs them on the host or in a
// container, and prints. Options keep their meaning. An option that isn't supported is an error, never ignored.
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
	// Stage starts the jobs together and returns their measurements when all have ended: workload.Result.Stage has
	// one entry per job, in order. onSample may be nil.
	Stage(ctx context.Context, name string, jobs []workload.StageJob, onSample func(load.Sample)) (*workload.Result, error)
	// Path translates the path of a user's file into the session: unchanged on the host, a name in the place's folder
	// elsewhere.
	Path(name string) string
}

// A Reporter is a Session that reports the progress of a stage. Its jobs have load.Job.Status.
type Reporter interface {
	// OnStatus sets the function that receives the running stage's results so far, once per Ask, on any goroutine.
	OnStatus(func(*workload.Result))
	// Ask requests the results so far, and reports whether a stage is running; while the stage's files are made, none
	// is. It may be called from any goroutine. If the stage ends first, no answer comes.
	Ask() bool
}

// A Finisher is a Session that prints at its end: doubts about the figures, and where they are recorded.
type Finisher interface {
	// Finish ends the session after its last stage, and prints. quiet leaves the doubts out.
	Finish(ctx context.Context, quiet bool) error
}

// Finish ends a session before a tool's own last lines, for tools whose last line is read by scripts.
func Finish(ctx context.Context, s Session, quiet bool) error {
	if f, ok := s.(Finisher); ok {
		return f.Finish(ctx, quiet)
	}
	return nil
}

// Leave translates the paths of --destructive into paths of the session. A path that is none of the command line's
// files is an error: it may be mistyped.
func Leave(s Session, destructive, files []string) ([]string, error) {
	var leave, all []string
	for _, f := range files {
		all = append(all, s.Path(f))
	}
	for _, d := range destructive {
		p := s.Path(d)
		if !workload.Allowed(p, all) {
			return nil, Usagef("--destructive "+d, "is not a file of this command line; its files: %s", list(files))
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
		return "none"
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), n-most)
	}
	return strings.Join(files, ", ")
}

// A FileReader reads a file that the user names, at most limit+1 bytes of it.
type FileReader func(name string, limit int64) ([]byte, error)

// A UsageError is a mistake in a command line or a file: exit status 2.
type UsageError struct {
	// Where is the argument, or the file and line: "-b4Q", "job.fio:7".
	Where string
	Text  string
}

// Error implements error.
func (e *UsageError) Error() string { return e.Where + ": " + e.Text }

// Usagef makes a UsageError.
func Usagef(where, format string, args ...any) error {
	return &UsageError{where, fmt.Sprintf(format, args...)}
}

// Argument names argument i, counted from 0, as errors show it: "argument 3, -b4Q".
func Argument(i int, arg string) string { return fmt.Sprintf("argument %d, %s", i+1, arg) }

// Names gives each file that a user names its own name in a place's folder, also where InPlace returns the same name
// for two. The zero value is ready to use.
type Names struct {
	name  map[string]string // by file, its absolute path
	taken map[string]bool
}

// InPlace returns InPlace(name), with a number appended if another file already has that name. Two spellings of one
// path get one name.
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

// drive reports whether a path begins with a Windows drive.
func drive(name string) bool { return len(name) > 1 && name[1] == ':' }

// InPlace returns the name of a user's file in a place's folder: its path without drive and leading slashes, with the
// other slashes as underscores.
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
