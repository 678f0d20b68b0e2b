package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/durability"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// verifyFlags are the flags of plimsoll verify.
type verifyFlags struct {
	size, bs    string
	depth       int
	every       int
	direct      bool
	rate        int64
	journal     string
	check       bool
	json        bool
	destructive string
}

func (a *app) verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify FILE | --check --journal JOURNAL [FILE]",
		Short: "Find out whether storage keeps the data that it acknowledged",
		Long: `Verify writes a file of stamped blocks, each once and in a random order, syncs it every few
writes, and reads it back. For a block that is lost, damaged, torn or in the wrong place it
prints the offset and what is there instead; the exit status is then 4.

With --journal it records in another file how many writes each sync covered. If the writer, the
container, the machine or the power failed in between, --check compares the file with the
journal: every block that was acknowledged and synced must be there. Keep the journal on
another disk or machine: "-" is standard output.`,
		Example: `  plimsoll verify /mnt/data/test --size 1GiB
  plimsoll verify /mnt/data/test --size 1GiB --journal - | ssh other 'cat > journal'
  plimsoll verify --check --journal journal /mnt/data/test`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.check {
				return a.verifyCheck(cmd.Context(), f, first(args, ""))
			}
			if len(args) == 0 {
				return usageError("name the file to write, or --check a journal")
			}
			return a.verifyWrite(cmd.Context(), f, args[0])
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.size, "size", "256MiB", "length of the file")
	fl.StringVar(&f.bs, "bs", "4KiB", "length of a block")
	fl.IntVar(&f.depth, "iodepth", 1, "writes in flight")
	fl.IntVar(&f.every, "fdatasync", 32, "sync after every that many writes")
	fl.BoolVar(&f.direct, "direct", false, "write with direct I/O")
	fl.Int64Var(&f.rate, "rate", 0, "writes a second at most (0: no bound)")
	fl.StringVar(&f.journal, "journal", "", "file for the record of synced data, - for standard output; with --check the file to compare with, - for standard input")
	fl.BoolVar(&f.check, "check", false, "write nothing: compare the file with the journal")
	fl.BoolVar(&f.json, "json", false, "print what was found as JSON")
	fl.StringVar(&f.destructive, "destructive", "", "allow writing over this file or device; its data is then lost")
	return c
}

// verifyWrite writes the file, and reads it back unless the journal goes to standard output.
func (a *app) verifyWrite(ctx context.Context, f verifyFlags, path string) (err error) {
	length, err := size.Parse(f.size)
	if err != nil {
		return usageError("--size: %w", err)
	}
	bs, err := size.Parse(f.bs)
	if err != nil {
		return usageError("--bs: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	var buffer journalBuffer
	o := durability.Options{Path: path, Size: length, BS: bs, Depth: f.depth, Every: f.every, Direct: f.direct, Rate: f.rate}
	if err := o.Check(); err != nil {
		return usageError("%w", err)
	}
	closeJournal, err := a.openJournal(f.journal, &o, &buffer)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeJournal()) }()
	file, own, err := workload.MakeFile(ctx, path, length, []string{f.destructive})
	if err != nil {
		if errors.Is(err, workload.ErrOverwrite) {
			return usageError("%w", err)
		}
		if ctx.Err() != nil {
			return errors.New("interrupted while the file was made: nothing was verified")
		}
		return err
	}
	defer file.Close()
	o.File = file
	n, err := durability.Write(ctx, o)
	if own {
		workload.MarkFile(file) // Also as far as it got, so that it can be written anew.
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("interrupted; %d blocks were written and synced before", n)
	}
	if err != nil {
		return fmt.Errorf("%w; %d blocks were written and synced before", err, n)
	}
	if f.journal == "-" {
		return nil // Standard output is the journal's.
	}
	r, err := durability.Check(ctx, buffer.reader(), path)
	if err != nil {
		return err
	}
	return a.verifyTell(r, f.json)
}

// verifyCheck compares a file with a journal.
func (a *app) verifyCheck(ctx context.Context, f verifyFlags, path string) error {
	if f.journal == "" {
		return usageError("--check needs --journal")
	}
	if f.journal != "-" {
		if _, err := os.Stat(f.journal); err != nil {
			return usageError("--journal: open %s: %w", f.journal, userfile.Reason(err))
		}
	}
	in := userfile.Open(ctx, userfile.Argument(f.journal, a.stdin))
	defer in.Close()
	r, err := durability.Check(ctx, in, path)
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted before all blocks were compared: there is no result")
	}
	if err != nil {
		return err
	}
	return a.verifyTell(r, f.json)
}

// verifyTell prints a report and returns the error of one that isn't good.
func (a *app) verifyTell(r *durability.Report, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "%s: %d of %d blocks of %s were acknowledged and synced\n", clean.Line(r.Path), r.Flushed, r.Blocks, size.Format(r.BS))
		fmt.Fprintf(a.stdout, "  %d of them are there and whole, %d are not\n", r.Flushed-r.Bad, r.Bad)
		if r.Flushed < r.Blocks {
			fmt.Fprintf(a.stdout, "  %d later ones are there too\n", r.Later)
		}
		for _, x := range r.Faults {
			fmt.Fprintf(a.stdout, "  ! write %d, %d bytes at offset %d: %s\n", x.Write, x.Size, x.Offset, x.Found)
		}
		if n := r.Bad - int64(len(r.Faults)); n > 0 {
			fmt.Fprintf(a.stdout, "  ! and %d more\n", n)
		}
	}
	if r.Bad > 0 {
		return &exitError{exitNotHeld, fmt.Errorf("%d blocks that were acknowledged and synced do not have the data that was written", r.Bad)}
	}
	return nil
}
