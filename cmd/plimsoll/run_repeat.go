package main

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/text/clean"
)

// repeatCommand is the command line that repeats run id, its seed included. A plan that came
// from standard input is taken from the run's record, as the flags had changed it.
func repeatCommand(f runFlags, args []string, seed uint64, state, id string) string {
	words := []string{"plimsoll", "run"}
	words = append(words, args...)
	from := ""
	if first(args, "") == "-" {
		from = "plimsoll results show " + clean.Shell(id) + " --plan"
		if state != defaultStateDir() {
			from += " --state " + clean.Shell(state)
		}
		from += " | "
		f.plan = plan.Options{}
	}
	if f.plan.Quick {
		words = append(words, "--quick")
	}
	if f.plan.Blocks != "" {
		words = append(words, "--blocks", f.plan.Blocks)
	}
	if f.plan.Only != "" {
		words = append(words, "--only", f.plan.Only)
	}
	for _, s := range f.plan.Set {
		words = append(words, "--set", s)
	}
	words = append(words, "--seed", fmt.Sprint(seed))
	if f.destructive != "" {
		words = append(words, "--destructive", f.destructive)
	}
	if state != defaultStateDir() {
		words = append(words, "--state", state)
	}
	for i, w := range words {
		words[i] = clean.Shell(w)
	}
	return from + strings.Join(words, " ")
}
