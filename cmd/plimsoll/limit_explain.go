package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/device"
	"plimsoll/internal/limit/explain"
)

// limitExplainCommand is "plimsoll limit explain".
func (a *app) limitExplainCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain PATH|DEVICE...",
		Short: "Show what a path stands on, and where its limits go",
		Long: `Explain shows what a path stands on, from the mount down to the disks, and says of it

  - which device a limit of bandwidth or IOPS goes on, and which disk a weight;
  - which ways to read and write such a limit holds, and which it lets through;
  - on which layers what a container does is charged to nobody, and why;
  - what to do instead, where it can't be limited.

Of several paths it points out those that share a disk. It only looks, and needs no
root; without, it isn't told what devices of the device mapper are made of.

Exit status: 0; 2 if a path doesn't exist; 5 if one of them can't be limited here.`,
		Example: `  plimsoll limit explain /var/lib/docker
  plimsoll limit explain / /var
  plimsoll limit explain / --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("name a path or a device, such as the folder of a volume: see '%s --help'", cmd.CommandPath())
			}
			return a.limitExplain(device.Host(), args, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	return c
}

// An explained is the JSON of limit explain.
type explained struct {
	// Host is the machine's: the versions of its I/O and memory controllers.
	Host *explain.Host `json:"host"`
	// Paths are in the order in which they were asked for.
	Paths  []*explain.Explanation `json:"paths"`
	Shared []explain.Shared       `json:"shared,omitempty"`
}

// limitExplain looks at paths on a machine and prints what it found.
func (a *app) limitExplain(host device.FS, paths []string, asJSON bool) error {
	h, err := explain.Look(host)
	if errors.Is(err, errors.ErrUnsupported) {
		return &exitError{exitCannot, fmt.Errorf("limits on I/O are Linux's, and this is not Linux: ask inside the virtual machine where the containers run: %w", err)}
	}
	if err != nil {
		return err
	}
	out := explained{Host: h}
	var impossible []string
	for _, p := range paths {
		if p == "" {
			return usageError("a path is empty: name the folder of a volume, a file or a block device")
		}
		if _, err := os.Stat(p); errors.Is(err, fs.ErrNotExist) {
			return usageError("%s does not exist: name the folder of a volume, a file or a block device", p)
		} else if err != nil {
			return err
		}
		e, err := h.Path(p)
		if err != nil {
			return err
		}
		out.Paths = append(out.Paths, e)
		if !e.Possible {
			impossible = append(impossible, p)
		}
	}
	out.Shared = explain.Sharing(out.Paths)
	if asJSON {
		err = a.printJSON(out)
	} else {
		_, err = io.WriteString(a.stdout, out.text())
	}
	if err == nil && len(impossible) > 0 {
		err = &exitError{exitCannot, fmt.Errorf("%s can't be limited here: see what to do instead", strings.Join(impossible, " and "))}
	}
	return err
}
