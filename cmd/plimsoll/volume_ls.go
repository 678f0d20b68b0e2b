package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/provide/volume"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/size"
)

func (a *app) volumeLsCommand() *cobra.Command {
	var asJSON, removed bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the volumes",
		Long: `List the volumes. USED is what is taken of a mounted volume, DISK what the volume takes
of the disk below. With --removed: the removed volumes whose data is still there.`,
		Example: `  plimsoll volume ls
  plimsoll volume ls --removed`,
		Args: exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			if removed {
				return a.listRemoved(s, asJSON)
			}
			list, err := s.List()
			all := []aVolume{}
			for _, v := range list {
				all = append(all, look(s, v))
			}
			if asJSON {
				return errors.Join(a.printJSON(all), err)
			}
			table := layout.Table{Head: []string{"NAME", "PROFILE", "BACKEND", "CAPACITY", "USED", "DISK", "IOPS", "MOUNTS"}}
			for _, v := range all {
				table.Add(v.Name, v.Profile.Name, v.Backend, v.Profile.Asked("capacity"), v.used(), size.Bytes(v.Space.Disk), v.Profile.Asked("iops"), fmt.Sprint(len(v.Mounts)))
			}
			return errors.Join(a.printTable(table), a.printRooms(s, list), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&removed, "removed", false, "list the removed volumes whose data is still there")
	return cmd
}

// printRooms prints what the disks of volumes are provisioned with.
func (a *app) printRooms(s *volume.Volumes, list []volume.Volume) error {
	seen := map[string]bool{}
	for _, v := range list {
		room, err := s.Room(v)
		if err != nil {
			return err
		}
		if room.Promised == 0 || seen[room.Disk] {
			continue
		}
		seen[room.Disk] = true
		if _, err := fmt.Fprintf(a.stdout, "\n%s: %s\n", room.Disk, room); err != nil {
			return err
		}
	}
	return nil
}

// listRemoved prints the trash.
func (a *app) listRemoved(s *volume.Volumes, asJSON bool) error {
	list, err := s.Trash()
	if asJSON {
		if list == nil {
			list = []volume.Removed{}
		}
		return errors.Join(a.printJSON(list), err)
	}
	table := layout.Table{Head: []string{"ID", "REMOVED", "DELETED AFTER"}}
	for _, r := range list {
		table.Add(r.ID, r.At.Local().Format("2006-01-02 15:04"), r.Until.Local().Format("2006-01-02 15:04"))
	}
	return errors.Join(a.printTable(table), err)
}

// printTable prints a table.
func (a *app) printTable(t layout.Table) error {
	var b strings.Builder
	t.Write(&b)
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

func (a *app) volumeInspectCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect NAME",
		Short: "Show a volume and what its backend keeps of its profile",
		Long: `Show where a volume is, who has mounted it, and each promise of its profile: enforced,
advisory or unsupported here, and why.`,
		Example: `  plimsoll volume inspect db
  plimsoll volume inspect db --json`,
		ValidArgsFunction: a.completeVolume,
		Args:              exactly(1, "the name of a volume"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			found, err := s.Get(args[0])
			if err != nil {
				return volumeError(err)
			}
			v := look(s, found)
			if v.Promises, err = s.Promises(found); err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(v)
			}
			report, err := s.CheckVolume(found)
			if err != nil {
				return err
			}
			var b strings.Builder
			line := func(label, text string) {
				if text != "" {
					fmt.Fprintf(&b, "%-9s %s\n", label, text)
				}
			}
			line("volume", v.Name)
			line("error", v.Error)
			line("note", v.Note)
			line("folder", v.Folder)
			line("mounted", v.Root)
			line("made", v.Created.Local().Format("2006-01-02 15:04:05"))
			line("used", v.used())
			line("disk", size.Bytes(v.Space.Disk))
			for _, u := range v.Mounts {
				line("mount", u.ID+", since "+u.Since.Local().Format("2006-01-02 15:04:05"))
			}
			_, err = fmt.Fprintf(a.stdout, "%s\n%s", b.String(), report.Table())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// volumeError is the error of a name that no volume has, as the user's.
func volumeError(err error) error {
	if _, unknown := errors.AsType[*volume.UnknownError](err); unknown {
		return usageError("%w", err)
	}
	if _, exists := errors.AsType[*volume.ExistsError](err); exists {
		return usageError("%w", err)
	}
	return err
}
