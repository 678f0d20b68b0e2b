package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/engines"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/safety"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/refusal"
)

// checkFlags are the flags of plimsoll check.
type checkFlags struct {
	engine, place, share, cache, kernel string
	json                                bool
}

// checkPlaces are the places that check knows, the default of each engine first.
var checkPlaces = map[string][]place.Kind{
	plan.Host:   {place.Dir},
	plan.OCI:    {place.Bind, place.Layer, place.Tmpfs},
	plan.Docker: {place.Bind, place.Volume, place.Layer, place.Tmpfs},
	plan.VM:     {place.Bind, place.Layer, place.Tmpfs},
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check [FOLDER]",
		Short: "Find out what is safe to keep in a place",
		Long: `Check finds out in a few seconds what a place keeps and breaks of what programs expect of
a file system: shared memory, locks, syncs that reach the disk, file events, edits that
are seen at once. It says for which programs the place is safe, such as SQLite, PostgreSQL,
etcd, git and file watchers, and why not.

Two processes take turns in the place: in one container, in two, and in a container and on
the host. Check puts no load on the place, and removes what it makes there.

FOLDER is a folder of this machine. With --engine docker or oci it is mounted into
containers, with --engine vm it is shared with a virtual machine. Without FOLDER the place
is in Plimsoll's state folder, or a new volume.`,
		Example: `  plimsoll check /srv/data
  plimsoll check /srv/data --engine docker
  plimsoll check --engine docker --place volume
  plimsoll check /srv/data --engine vm --share virtiofs --cache always`,
		Args: atMost(1, "a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), f, args)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.engine, "engine", plan.Host, "what uses the place: "+strings.Join(engines.Kinds, ", "))
	fl.StringVar(&f.place, "place", "", "bind, volume, layer or tmpfs (default: dir for the host, else bind)")
	fl.StringVar(&f.share, "share", "", "how a virtual machine gets the folder: 9p, virtiofs, nfs or smb")
	fl.StringVar(&f.cache, "cache", "", "how a virtual machine caches it, in the words of a plan's key cache")
	fl.StringVar(&f.kernel, "kernel", "", "a virtual machine's kernel (default: one that is installed here)")
	fl.BoolVar(&f.json, "json", false, "print the report as JSON")
	return c
}

// check checks a place and prints the report.
func (a *app) check(ctx context.Context, f checkFlags, args []string) error {
	where, err := f.spec(args)
	if err != nil {
		return err
	}
	if err := paths.Old(a.stateDir, a.machine()); err != nil {
		return err
	}
	source := a.engines()
	e, err := source.New(f.engine)
	if err != nil {
		return err
	}
	if f.engine == plan.VM {
		e = source.NewVM(plan.Machine{Share: f.share, Cache: f.cache, Kernel: f.kernel})
	}
	host, err := source.New(plan.Host)
	if err != nil {
		return err
	}
	source.Sweep(ctx, e) // A check that was killed left its folder.
	report, err := safety.Check(ctx, safety.Options{Engine: e, Host: host, Place: where})
	var refused *refusal.Error
	if errors.As(err, &refused) {
		return &exitError{exitCannot, err}
	}
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSON(report)
	}
	return report.WriteText(a.stdout)
}

// spec is the place that the flags and the argument name.
func (f checkFlags) spec(args []string) (place.Spec, error) {
	kinds := checkPlaces[f.engine]
	if kinds == nil {
		return place.Spec{}, usageError("there is no engine %q: use %s", f.engine, strings.Join(engines.Kinds, ", "))
	}
	s := place.Spec{Kind: place.Kind(f.place)}
	if s.Kind == "" {
		s.Kind = kinds[0]
	}
	if !slices.Contains(kinds, s.Kind) {
		return place.Spec{}, usageError("engine %s has no place %q: it has %s", f.engine, f.place, joinKinds(kinds))
	}
	if (f.share != "" || f.cache != "") && (f.engine != plan.VM || s.Kind != place.Bind) {
		return place.Spec{}, usageError("--share and --cache are for a folder of a virtual machine: add --engine vm")
	}
	if f.kernel != "" && f.engine != plan.VM {
		return place.Spec{}, usageError("--kernel is for a virtual machine: add --engine vm")
	}
	s.Name = fmt.Sprintf("%s of engine %s", s.Kind, f.engine)
	if len(args) == 0 {
		return s, nil
	}
	if s.Kind != place.Dir && s.Kind != place.Bind {
		return place.Spec{}, usageError("a place %s has no folder: leave out %s, or use --place bind", s.Kind, args[0])
	}
	path, err := filepath.Abs(args[0])
	if err != nil {
		return place.Spec{}, err
	}
	if st, err := os.Stat(path); err != nil {
		return place.Spec{}, usageError("the folder can't be checked: %w", err)
	} else if !st.IsDir() {
		return place.Spec{}, usageError("%s is not a folder", path)
	}
	s.Path, s.Name = path, path
	return s, nil
}

// joinKinds lists places.
func joinKinds(kinds []place.Kind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}
