package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/dialect/dd"
)

// dialectCommands are the tools whose lines Plimsoll takes.
func (a *app) dialectCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, t := range []dialectTool{
		{
			name: "dd", use: "dd if=FILE of=FILE [OPERAND]...", short: "Run a line of dd, anywhere",
			long: `Dd runs a line of dd unchanged and ends with dd's last lines. One side is storage: the other
is /dev/zero, /dev/urandom or /dev/null.`,
			example: `  plimsoll dd if=/dev/zero of=test.img bs=1M count=256 oflag=direct
  plimsoll dd if=/dev/zero of=test.img bs=64K count=1000 oflag=dsync --engine oci --place volume
  plimsoll dd if=test.img of=/dev/null bs=1M iflag=direct`,
			parse: func(args, destructive []string) (dialectTest, error) { return dd.Parse(args, destructive) },
		},
	} {
		all = append(all, a.dialectCommand(t))
	}
	return all
}
