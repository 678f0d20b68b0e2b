package workload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/measure/website"
	"plimsoll/internal/text/lastbytes"
)

// A CommandSpec is a program that the workload command runs and times.
type CommandSpec struct {
	// Argv is the program, by its name or path, and its arguments. In them, in Env and in Dir the words {source} and
	// {destination} stand for the folders of the source and of the destination.
	Argv []string `json:"argv"`
	// Env are more environment variables. The command gets these, PATH, HOME (its working folder) and LANG=C.UTF-8, and no
	// others.
	Env map[string]string `json:"env,omitempty"`
	// Dir is the working folder. Default: {destination}, which is empty at the beginning.
	Dir string `json:"dir,omitempty"`
	// Site, if set, is generated in the source folder first; nil: the folder is empty.
	Site *website.Spec `json:"site,omitempty"`
	// Output is how many bytes are kept of the ends of standard output and standard error. Default: 8 KiB.
	Output int64 `json:"output,omitempty"`
}

// Bounds of CommandSpec.Output.
const (
	DefaultOutput = 8 << 10
	MaxOutput     = 1 << 20
)

// A CommandEnd describes how a command ended.
type CommandEnd struct {
	// Exit is its exit status, or -1 if it was never started or a signal, which Signal names, ended it.
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Stdout and Stderr are the ends of its output; StdoutBytes and StderrBytes are how long that was.
	Stdout      string `json:"stdout,omitempty"`
	Stderr      string `json:"stderr,omitempty"`
	StdoutBytes int64  `json:"stdout_bytes,omitempty"`
	StderrBytes int64  `json:"stderr_bytes,omitempty"`
	// Files and Bytes count the content of the destination at the end.
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// A CommandError is the error of a command that failed.
type CommandError struct {
	// Name is the program's, End how it ended.
	Name string
	End  CommandEnd
	// Err says why it was not started, or was stopped; nil if it ended by itself.
	Err error
}

// Error implements error.
func (e *CommandError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	case e.End.Signal != "":
		return fmt.Sprintf("%s was ended by a signal (%s)%s", e.Name, e.End.Signal, e.words())
	}
	return fmt.Sprintf("%s ended with exit status %d%s", e.Name, e.End.Exit, e.words())
}

// words are the last words of its output.
func (e *CommandError) words() string {
	if w := cmp.Or(lastbytes.LastWords(untraced(e.End.Stderr)), lastbytes.LastWords(untraced(e.End.Stdout))); w != "" {
		return ": " + w
	}
	return ""
}

// untraced is a text without indented lines, which are those of a stack trace: Ruby prints it below its error, Python
// above.
func untraced(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line[0] != ' ' && line[0] != '\t' {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Unwrap returns Err.
func (e *CommandError) Unwrap() error { return e.Err }

// validate returns the errors of c.
func (c *CommandSpec) validate() error {
	switch {
	case c == nil || len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("argv: a command needs a program")
	case c.Output < 0 || c.Output > MaxOutput:
		return fmt.Errorf("output: %d is not between 1 and %d bytes", c.Output, MaxOutput)
	}
	for k := range c.Env {
		if k == "" || strings.Contains(k, "=") {
			return fmt.Errorf("env: %q is not the name of a variable", k)
		}
	}
	for _, s := range slices.Concat(c.Argv, c.Variables(), []string{c.Dir}) {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("command: %q has a zero byte, which no argument can have", s)
		}
	}
	if c.Site != nil {
		return c.Site.Validate()
	}
	return nil
}

// Variables returns Env as KEY=VALUE, in order.
func (c *CommandSpec) Variables() []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(c.Env)) {
		out = append(out, k+"="+c.Env[k])
	}
	return out
}

// withDefaults fills in what c leaves out.
func (c *CommandSpec) withDefaults() *CommandSpec {
	if c == nil {
		return nil
	}
	out := *c
	out.Dir, out.Output = cmp.Or(c.Dir, "{destination}"), cmp.Or(c.Output, DefaultOutput)
	if c.Site != nil {
		s := c.Site.WithDefaults()
		out.Site = &s
	}
	return &out
}

// ErrNoProgram is matched by the errors of commands whose program doesn't exist.
var ErrNoProgram = errors.New("there is no such program")
