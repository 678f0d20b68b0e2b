package main

import (
	"testing"

	"github.com/spf13/cobra"
)

// TestTooManyArguments: no command ends with another status than that of wrong usage if it is given more arguments than it takes. verify and
// selfcheck ended with 1.
func TestTooManyArguments(t *testing.T) {
	refused := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.Args == nil {
			return
		}
		if err := c.Args(c, []string{"a", "b", "c"}); err != nil {
			refused[c.CommandPath()] = true
			if status := statusOf(err); status != exitUsage {
				t.Errorf("%s: status %d for %v, want %d", c.CommandPath(), status, err, exitUsage)
			}
		}
	}
	walk((&app{}).rootCommand())
	for _, name := range []string{"verify", "selfcheck", "run", "limit show", "limit set", "doctor"} {
		if !refused["plimsoll "+name] {
			t.Errorf("plimsoll %s takes three arguments", name)
		}
	}
}
