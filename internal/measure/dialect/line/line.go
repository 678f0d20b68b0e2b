// Package line runs a command line of another tool on any engine, in any place, and keeps its record if it is to.
//
// A line has the tool's own arguments, which a package of the dialect parses, and Plimsoll's between them, which Split takes out. What the
// tool prints is the dialect's; what Plimsoll has to add goes to standard error, at the end.
package line

import (
	"context"
	"errors"
	"fmt"
	"io"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/engines"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// Options are what a line needs of the command that it is given to.
type Options struct {
	Source engines.Source
	// Version is this program's, for the record.
	Version string
	// StateFlag is what a command to be copied needs to find the record, with a space before it.
	StateFlag string
	// Hard is cancelled when cleaning up must be quick.
	Hard           context.Context
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// A NotHeldError reports limits that were not held, though the command line worked otherwise.
type NotHeldError struct {
	Tool   string
	Limits int
}

// Error implements error.
func (e *NotHeldError) Error() string {
	return fmt.Sprintf("%s: %s NOT held", e.Tool, size.Plural(e.Limits, "limit"))
}

// ExitStatus is that of a limit that was not held.
func (e *NotHeldError) ExitStatus() int { return 4 }

// Run runs a command line of the tool: args, which Split has divided into f and rest. Errors begin with the tool's name. A mistake of the
// user's is a *usage.Error, and something that can't be had here is a refusal.
func (tool Tool) Run(ctx context.Context, f Flags, rest, args []string, o Options) error {
	if err := refuseFlags(tool, f); err != nil {
		return err
	}
	stderr := o.Stderr
	if f.Quiet {
		stderr = dialect.Quiet{Writer: o.Stderr}
	}
	for _, n := range f.Notes {
		dialect.Note(stderr, "%s", n)
	}
	test, err := tool.parse(userfile.Reader(ctx, o.Stdin), rest, f.Destructive)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: interrupted while its files were read", tool.Name)
	}
	if err != nil {
		return usage.Errorf("%s: %w", tool.Name, err)
	}
	if _, words := test.(wordsOnly); words || tool.Web && f.here() {
		return lineError(ctx, tool.Name, test.Run(ctx, nil, o.Stdout, stderr))
	}
	if t, ok := test.(interface{ Elsewhere() error }); ok {
		if err := t.Elsewhere(); err != nil {
			return usage.Errorf("%s: %w", tool.Name, err)
		}
	}
	s, err := openSession(ctx, tool, f, args, stderr, o)
	if err != nil {
		return lineError(ctx, tool.Name, err)
	}
	err = test.Run(ctx, s, o.Stdout, stderr)
	if err := lineError(ctx, tool.Name, errors.Join(err, s.close(err, ctx.Err() != nil))); err != nil {
		return err
	}
	return s.outcome(tool.Name)
}
