package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/provide/migrate"
	"plimsoll/internal/state/filelock"
)

func (a *app) volumeExportCommand() *cobra.Command {
	var snapshot string
	cmd := &cobra.Command{
		Use:   "export NAME [FILE|-]",
		Short: "Write a volume's content as a tar archive",
		Long: `Write the content of a volume, as it is at one moment, as a tar archive: to a file, which
is there whole or not at all, or to the standard output. Owners, modes, links, attributes
and holes are kept.`,
		Example: `  plimsoll volume export db db.tar
  plimsoll volume export db | ssh other plimsoll volume import db -`,
		ValidArgsFunction: a.completeVolume,
		Args:              oneOrTwo,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			write := func(w io.Writer) error {
				note, err := s.Export(cmd.Context(), args[0], snapshot, w)
				if note != "" {
					fmt.Fprintln(a.stderr, note)
				}
				return volumeError(err)
			}
			if len(args) == 2 && args[1] != "-" {
				return filelock.Write(args[1], "plimsoll-export-", func(f *os.File) error { return write(f) })
			}
			if f, ok := a.stdout.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
				return usageError("an archive is nothing for a terminal: name a file, or redirect the output")
			}
			return write(a.stdout)
		},
	}
	cmd.Flags().StringVar(&snapshot, "snapshot", "", "the id of a snapshot to export")
	notEmpty(cmd, "snapshot")
	return cmd
}

func (a *app) volumeImportCommand() *cobra.Command {
	var o volumeOptions
	cmd := &cobra.Command{
		Use:   "import NAME FILE|-",
		Short: "Make a volume from a tar archive",
		Long: `Make a new volume from a tar archive, of a file or the standard input. Nothing is written
outside of the volume, whatever the archive holds. If the archive is damaged or too large
for the volume, there is no volume.`,
		Example: `  plimsoll volume import db db.tar --capacity 40GB
  zcat db.tar.gz | plimsoll volume import db - --profile POSTGRES`,
		Args: exactly(2, "a name and a file, or - for the standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := o.all()
			if err != nil {
				return err
			}
			from := a.stdin
			if args[1] != "-" {
				f, err := os.Open(args[1])
				if err != nil {
					return usageError("%w", err)
				}
				defer f.Close()
				from = f
			}
			s, err := a.volumes()
			if err != nil {
				return err
			}
			where, p, err := s.Options(options)
			if err != nil {
				return err
			}
			v, err := s.Import(cmd.Context(), args[0], where, p, from)
			if err != nil {
				return volumeError(err)
			}
			_, err = fmt.Fprintf(a.stdout, "volume %s is made: %s, profile %s\n", v.Name, v.Profile.Asked("capacity"), v.Profile.Name)
			return err
		},
	}
	createFlags(cmd, &o)
	return cmd
}

// dockerPrefix begins the name of a volume of Docker's.
const dockerPrefix = "docker:"

func (a *app) volumeMigrateCommand() *cobra.Command {
	var o volumeOptions
	var remove bool
	cmd := &cobra.Command{
		Use:   "migrate SRC DST",
		Short: "Copy a volume of Docker to Plimsoll, or back",
		Long: `Copy a volume of Docker's driver local, docker:NAME, to a new volume of Plimsoll, or the
other way round. No container may run with the source. The copy is compared with its
source file by file; --remove removes the source after that.`,
		Example: `  plimsoll volume migrate docker:web web --capacity 20GB
  plimsoll volume migrate web docker:web --remove`,
		Args: exactly(2, "two volumes, one of them docker:NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, fromDocker := strings.CutPrefix(args[0], dockerPrefix)
			to, toDocker := strings.CutPrefix(args[1], dockerPrefix)
			if fromDocker == toDocker {
				return usageError("one of the two must be Docker's: docker:NAME")
			}
			options, err := o.all()
			if err != nil {
				return err
			}
			if toDocker && len(options) > 0 {
				return usageError("a volume of Docker has no profile: leave out the options")
			}
			s, err := a.volumes()
			if err != nil {
				return err
			}
			address, err := dockerapi.Find("", a.env)
			if err != nil {
				return err
			}
			docker, err := dockerapi.Open(address)
			if err != nil {
				return err
			}
			defer docker.Close()
			m, how := migrate.Migration{Volumes: s, Docker: docker}, migrate.Options{Create: options, Remove: remove}
			if fromDocker {
				_, err = m.FromDocker(cmd.Context(), from, to, how)
			} else {
				err = m.ToDocker(cmd.Context(), from, to, how)
			}
			if err != nil {
				return volumeError(err)
			}
			state := "stays"
			if remove {
				state = "is removed"
			}
			_, err = fmt.Fprintf(a.stdout, "%s is a verified copy of %s, which %s\n", args[1], args[0], state)
			return err
		},
	}
	createFlags(cmd, &o)
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the source after its copy was verified")
	return cmd
}
