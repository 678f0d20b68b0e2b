package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/clean"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
)

// isVolume reports whether a target's name is that of a volume.
func isVolume(name string) bool { return strings.HasPrefix(name, "volume:") }

// A limitShown is what show prints of one part with --json.
type limitShown struct {
	Part   hold.Part      `json:"part"`
	Groups []cgroup.State `json:"groups"`
	// Stored is what the engine sets again at the container's next start.
	Stored *hold.Stored `json:"stored,omitempty"`
	// Notes say what could not be found out.
	Notes []string `json:"notes,omitempty"`
}

// limitShowCommand shows the limits that a target has.
func (a *app) limitShowCommand() *cobra.Command {
	var where limitWhere
	cmd := &cobra.Command{
		Use:   "show TARGET",
		Short: "Show the limits that the kernel holds a target to",
		Long: `Show reads the limits from the kernel, whoever set them: what it doesn't show is not
limited. On control groups of version 1 each group below the container's own is
limited by itself, and is shown. What the engine has stored, and sets again at the container's next
start, is told below.

` + targetHelp,
		Example: `  plimsoll limit show web
  plimsoll limit show volume:data --json`,
		Args: exactly(1, "TARGET"),
	}
	cmd.Flags().BoolVar(&where.json, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := a.newLimiter()
		if err != nil {
			return err
		}
		defer l.Close()
		s, err := l.scope(cmd.Context(), args[0], where, isVolume(args[0]))
		if err != nil {
			return err
		}
		var all []limitShown
		for _, p := range s.Parts {
			groups, err := l.Groups.Read(p.Groups)
			if err != nil {
				return limitError(fmt.Errorf("%s: %w", p.Name, err))
			}
			shown := limitShown{Part: p, Groups: groups}
			if shown.Stored, err = l.Stored(cmd.Context(), p.Target); err != nil {
				shown.Notes = append(shown.Notes, fmt.Sprintf("what the engine sets at the next start is not known: %v", err))
			}
			all = append(all, shown)
		}
		if where.json {
			return a.printJSON(struct {
				*hold.Scope
				Shown []limitShown `json:"shown"`
			}{s, all})
		}
		return a.showLimits(l, all)
	}
	return cmd
}

// showLimits prints a table.
func (a *app) showLimits(l *limiter, all []limitShown) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	rows := 0
	row := func(cells ...string) {
		rows++
		for i, c := range cells {
			cells[i] = clean.Line(c)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	for _, s := range all {
		for _, g := range s.Groups {
			if !g.Limits.IsZero() {
				row(s.Part.Name, g.Group, "", g.Limits.String())
			}
			for _, d := range slices.SortedFunc(maps.Keys(g.Devices), func(x, y cgroup.Device) int { return strings.Compare(x.String(), y.String()) }) {
				row(s.Part.Name, g.Group, l.deviceName(d), g.Devices[d].String())
			}
		}
	}
	if rows == 0 {
		for _, s := range all {
			fmt.Fprintln(a.stdout, clean.Line(s.Part.Name)+": no limits")
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range all {
		if s.Stored != nil {
			fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf("%s: %s", s.Part.Name, s.Stored)))
		}
		for _, n := range s.Notes {
			fmt.Fprintln(a.stdout, clean.Line(fmt.Sprintf("%s: note: %s", s.Part.Name, n)))
		}
	}
	return nil
}

// deviceName is a device's name and number.
func (l *limiter) deviceName(d cgroup.Device) string {
	dev, err := l.FS.Disk(d.Major, d.Minor)
	if err != nil {
		return d.String()
	}
	return dev.Name + " (" + d.String() + ")"
}
