package runs

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/text/clean"
)

// A Command is the command line of a run.
type Command struct {
	// Args are its words that are no flags: a plan, "-" for standard input, or none.
	Args []string
	// Plan are the flags that change the plan.
	Plan        plan.Options
	Destructive string
	// State is the state folder; "": the default one.
	State string
}

// Repeat is the command line that repeats run id, its seed included. A plan that came from standard input is taken from the run's record,
// as the flags had changed it.
func (c Command) Repeat(seed uint64, id string) string {
	words := []string{"plimsoll", "run"}
	words = append(words, c.Args...)
	from := ""
	if len(c.Args) > 0 && c.Args[0] == "-" {
		from = "plimsoll results show " + clean.Shell(id) + " --plan"
		if c.State != "" {
			from += " --state " + clean.Shell(c.State)
		}
		from += " | "
		c.Plan = plan.Options{}
	}
	if c.Plan.Quick {
		words = append(words, "--quick")
	}
	if c.Plan.Blocks != "" {
		words = append(words, "--blocks", c.Plan.Blocks)
	}
	if c.Plan.Only != "" {
		words = append(words, "--only", c.Plan.Only)
	}
	for _, s := range c.Plan.Set {
		words = append(words, "--set", s)
	}
	words = append(words, "--seed", fmt.Sprint(seed))
	if c.Destructive != "" {
		words = append(words, "--destructive", c.Destructive)
	}
	if c.State != "" {
		words = append(words, "--state", c.State)
	}
	for i, w := range words {
		words[i] = clean.Shell(w)
	}
	return from + strings.Join(words, " ")
}
