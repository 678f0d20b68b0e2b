package runs

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/text/clean"
)

// A Command is the command line of a run.
type Command struct {
	// Args are the arguments that are not flags: a plan, "-" for standard input, or none.
	Args []string
	// Plan are the flags that change the plan.
	Plan plan.Options
	// For is how long the run measures, "" for as many blocks as the plan has.
	For string
	// Max is how long a run measures that ends when all is settled; "" for other runs.
	Max         string
	Destructive string
	// State is the state folder; "": the default.
	State string
}

// Repeat returns the command line that repeats run id, including its seed. If the plan came from standard input, the
// command takes it from the run's record, as changed by the flags.
func (c Command) Repeat(seed uint64, id string) string {
	words := []string{"plimsoll", "run"}
	words = append(words, c.Args...)
	from, flags := "", c.Plan
	if len(c.Args) > 0 && c.Args[0] == "-" {
		from = "plimsoll results show " + clean.Shell(id) + " --plan" + c.stateFlag() + " | "
		flags = plan.Options{}
	}
	if flags.Quick {
		words = append(words, "--quick")
	}
	if flags.Blocks != "" {
		words = append(words, "--blocks", flags.Blocks)
	}
	if flags.Path != "" {
		words = append(words, "--path", flags.Path)
	}
	if c.For != "" {
		words = append(words, "--for", c.For)
	}
	if c.Max != "" {
		words = append(words, "--until-settled", "--max", c.Max)
	}
	if flags.Only != "" {
		words = append(words, "--only", flags.Only)
	}
	for _, s := range flags.Set {
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

// stateFlag is the --state flag for commands in messages, with a space before it, or "" for the default folder.
func (c Command) stateFlag() string {
	if c.State == "" {
		return ""
	}
	return " --state " + clean.Shell(c.State)
}
