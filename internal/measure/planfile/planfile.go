// Package planfile finds the plan that a user names: a built-in plan, a file, standard input, or a job file of fio,
// whose jobs become the workloads of a plan.
package planfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/text/usage"
	"plimsoll/plans"
)

// Read returns the text of the plan that arg names, and the name of its file for messages: a built-in plan, "-" for
// stdin, or a file. A file with the name of a built-in plan needs ./ before its name. note receives what a plan does in
// a different way than a job file says. Errors of the user's are *usage.Errors.
func Read(ctx context.Context, arg string, stdin io.Reader, note func(string)) (file string, text []byte, err error) {
	if slices.Contains(plans.Names(), arg) {
		text, err = plans.Get(arg)
		return plans.File(arg), text, err
	}
	file = arg
	if arg == "-" {
		file = "standard input"
	}
	read := userfile.Reader(ctx, stdin)
	text, err = read(arg, strict.MaxSize) // plan.Parse reports a longer one.
	switch {
	case errors.Is(err, context.Canceled):
		return "", nil, fmt.Errorf("interrupted while the plan %s was read: nothing is recorded", file)
	case errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(arg, `/\.`):
		return "", nil, usage.Errorf("there is no file and no built-in plan %q; built in: %s", arg, strings.Join(plans.Names(), ", "))
	case err != nil:
		return "", nil, usage.Errorf("read the plan %s: %w", file, userfile.Reason(err))
	case isJobFile(file, text):
		text, err = planOfJobs(file, text, read, note)
	}
	return file, text, err
}

// A BuiltIn is a built-in plan in a list.
type BuiltIn struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Cells includes A/A controls.
	Cells int `json:"cells"`
}

// List returns the built-in plans.
func List() ([]BuiltIn, error) {
	var all []BuiltIn
	for _, name := range plans.Names() {
		text, err := plans.Get(name)
		if err != nil {
			return nil, err
		}
		p, err := plan.Parse(plans.File(name), text)
		if err != nil {
			return nil, err
		}
		all = append(all, BuiltIn{p.Name, strings.TrimSpace(p.Description), len(p.Cells())})
	}
	return all, nil
}
