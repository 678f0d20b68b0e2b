package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/text/usage"
)

// A filled value is one of a flag that is not taken without text. An empty one is most often a shell's variable that isn't set:
// were it the same as no flag, "clear web --device $DISK" would clear all devices.
type filled struct{ pflag.Value }

// Set implements pflag.Value.
func (v filled) Set(s string) error {
	if s == "" {
		return usage.ErrEmpty
	}
	return v.Value.Set(s)
}

// notEmpty makes flags of cmd, which it has already, refuse an empty text.
func notEmpty(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			f = cmd.PersistentFlags().Lookup(name)
		}
		f.Value = filled{f.Value}
		if f.DefValue == "[]" {
			f.DefValue = "" // That of an empty list is left out of the help by its type, which is now another.
		}
	}
}
