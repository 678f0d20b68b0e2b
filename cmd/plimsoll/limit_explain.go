package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/jsonlist"
)

// limitExplainCommand is "plimsoll limit explain".
func (a *app) limitExplainCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain PATH|DEVICE|TARGET...",
		Short: "Show the devices under a path, device, container or volume, and where its limits go",
		Long: `Explain shows the devices under a path, from the mount down to the disks, and says

  - which device a limit of bandwidth or IOPS goes on, and which disk a weight;
  - which ways to read and write such a limit holds, and which it lets through;
  - on which layers the kernel charges a container's I/O to no group, and why;
  - what to do instead, where no limit can be set.

A name that is no path is a TARGET: explain shows a container's own layer and everything mounted
into it, or a volume's folder.

` + targetHelp + `

Of several paths it points out those that share a disk. It changes nothing and doesn't need root;
without root it can't see what device mapper devices are made of.

Exit status: 0; 1 if there is no such TARGET; 2 if a path doesn't exist; 5 if one of them can't be limited here.`,
		Example: `  plimsoll limit explain /var/lib/docker
  plimsoll limit explain / /var
  plimsoll limit explain web
  plimsoll limit explain volume:data
  plimsoll limit explain / --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("name a path, a device, a container or a volume (volume:NAME): see '%s --help'", cmd.CommandPath())
			}
			return a.limitExplain(cmd.Context(), device.Host(), args, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print what was found as JSON")
	return c
}

// limitExplain looks at paths on a machine and prints what it found.
func (a *app) limitExplain(ctx context.Context, host device.FS, paths []string, asJSON bool) error {
	h, err := explain.Look(host)
	if errors.Is(err, errors.ErrUnsupported) {
		return &exitError{exitCannot, fmt.Errorf("limits on I/O are Linux's, and this is not Linux: ask inside the virtual machine where the containers run: %w", err)}
	}
	if err != nil {
		return err
	}
	out := explain.Answer{Host: h}
	var impossible []string
	for _, p := range paths {
		if p == "" {
			return usageError("a path is empty: name the folder of a volume, a file or a block device")
		}
		list, err := a.explainOne(ctx, h, p)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := hold.Empty(host, e.Hard); err != nil {
				return limitError(err)
			}
		}
		for _, e := range list {
			out.Paths = append(out.Paths, e)
			if !e.Possible {
				impossible = append(impossible, e.Path)
			}
		}
	}
	out.Shared = explain.Sharing(out.Paths)
	if asJSON {
		err = a.printJSON(jsonlist.Of(out))
	} else {
		_, err = io.WriteString(a.stdout, out.Text())
	}
	if err == nil && len(impossible) > 0 {
		err = &exitError{exitCannot, fmt.Errorf("%s can't be limited here: see the alternatives", strings.Join(impossible, " and "))}
	}
	return err
}

// explainOne explains a path that exists, or else the data of a target.
func (a *app) explainOne(ctx context.Context, h *explain.Host, name string) ([]*explain.Explanation, error) {
	_, err := os.Stat(name)
	if err == nil {
		e, err := h.Path(name)
		return []*explain.Explanation{e}, err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ref, bad := target.Parse(name)
	if bad != nil {
		return nil, usageError("%s does not exist: name the folder of a volume, a file, a block device, a container or volume:NAME", name)
	}
	l, err := a.newLimiter()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	t, err := l.finder.Resolve(ctx, ref)
	if err != nil {
		return nil, err
	}
	if t.Kind == target.Volume {
		e, err := l.LookVolume(t)
		if err != nil {
			return nil, limitError(fmt.Errorf("%s: %w", t.Ref(), err))
		}
		e.Path = t.Ref() + ", " + e.Path
		return []*explain.Explanation{e}, nil
	}
	s, err := l.Look(t)
	if err != nil {
		return nil, limitError(err)
	}
	if len(s.Places) == 0 {
		return nil, &exitError{exitCannot, fmt.Errorf("%s has no known files of its own: name a path", strings.Join(append([]string{t.Ref()}, s.Notes...), ": "))}
	}
	var list []*explain.Explanation
	for _, g := range s.Places {
		g.Explanation.Path = t.Ref() + ", " + g.Name
		if g.Path != "" && g.Path != g.Name {
			g.Explanation.Path += " (" + g.Path + ")"
		}
		list = append(list, g.Explanation)
	}
	return list, nil
}
