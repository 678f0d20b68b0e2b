package workload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/measure/website"
	"plimsoll/internal/text/tail"
)

// A CommandSpec is a program that the workload command runs and times.
type CommandSpec struct {
	// Argv is the program, by its name or path, and its arguments. In them, in Env and in Dir the words {source} and
	// {destination} stand for the folders of the source and of the destination.
	Argv []string `json:"argv"`
	// Env are more variables. The command has these, PATH, HOME (its working folder) and LANG=C.UTF-8, and no others.
	Env map[string]string `json:"env,omitempty"`
	// Dir is the working folder. Default: {destination}, which is empty at the beginning.
	Dir string `json:"dir,omitempty"`
	// Site, if set, is made in the source folder before; nil: that is empty.
	Site *website.Spec `json:"site,omitempty"`
	// Output is how much of standard output and of standard error is kept, of their ends, in bytes. Default: 8 KiB.
	Output int64 `json:"output,omitempty"`
}

// Bounds of CommandSpec.Output.
const (
	DefaultOutput = 8 << 10
	MaxOutput     = 1 << 20
)

// A CommandEnd says what became of a command.
type CommandEnd struct {
	// Exit is its exit status; -1 where a signal ended it, which Signal names, or it was never started.
	Exit   int    `json:"exit"`
	Signal string `json:"signal,omitempty"`
	// Stdout and Stderr are the ends of what it wrote there; StdoutBytes and StderrBytes are how much that was.
	Stdout      string `json:"stdout,omitempty"`
	Stderr      string `json:"stderr,omitempty"`
	StdoutBytes int64  `json:"stdout_bytes,omitempty"`
	StderrBytes int64  `json:"stderr_bytes,omitempty"`
	// Files and Bytes are what was in the destination at the end.
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
}

// A CommandError is a command that did not end well.
type CommandError struct {
	// Name is the program's, End what is known of it.
	Name string
	End  CommandEnd
	// Err is why it was not started, or why it was ended; nil if it ended by itself.
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

// words are the last that it said.
func (e *CommandError) words() string {
	if w := cmp.Or(tail.LastWords(untraced(e.End.Stderr)), tail.LastWords(untraced(e.End.Stdout))); w != "" {
		return ": " + w
	}
	return ""
}

// untraced is a text without indented lines: those of a trace, as Ruby writes below its error, and Python above.
func untraced(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line[0] != ' ' && line[0] != '\t' {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Unwrap returns why it was ended.
func (e *CommandError) Unwrap() error { return e.Err }

// validate reports what is wrong with c.
func (c *CommandSpec) validate() error {
	switch {
	case c == nil || len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("argv: a command needs a program")
	case c.Output < 0 || c.Output > MaxOutput:
		return fmt.Errorf("output: %d is not between 1 and %d bytes", c.Output, MaxOutput)
	}
	for k := range c.Env {
		if k == "" || strings.Contains(k, "=") {
			return fmt.Errorf("env: %q is no name of a variable", k)
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

// Variables are those of Env, in order: KEY=VALUE.
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

// ErrNoProgram is matched by the errors of commands whose program isn't there.
var ErrNoProgram = errors.New("there is no such program")
