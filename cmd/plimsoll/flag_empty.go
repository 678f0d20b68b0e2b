package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/text/usage"
)

// A filled is the value of a flag that refuses an empty text. An empty text is most often an unset shell variable. If
// it counted as no flag, "clear web --device $DISK" would clear all devices.
type filled struct{ pflag.Value }

// Set implements pflag.Value.
func (v filled) Set(s string) error {
	if s == "" {
		return usage.ErrEmpty
	}
	return v.Value.Set(s)
}

// notEmpty makes existing flags of cmd refuse an empty text.
func notEmpty(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			f = cmd.PersistentFlags().Lookup(name)
		}
		f.Value = filled{f.Value}
		if f.DefValue == "[]" {
			f.DefValue = "" // The help omits the default of an empty list by its type, which this changes.
		}
	}
}
