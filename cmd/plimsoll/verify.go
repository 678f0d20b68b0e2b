package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/durability"
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
		Short: "Check that storage keeps the data that it acknowledged",
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
		Args: atMost(1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := a.verify(cmd.Context(), f, first(args, ""))
			if r == nil {
				return err
			}
			if f.json {
				err = errors.Join(err, a.printJSON(r))
			} else {
				r.WriteText(a.stdout)
			}
			if err == nil && r.Bad > 0 {
				err = &exitError{exitNotHeld, fmt.Errorf("%d blocks were acknowledged and synced, but do not have the data that was written", r.Bad)}
			}
			return err
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.size, "size", "256MiB", "length of the file")
	fl.StringVar(&f.bs, "bs", "4KiB", "length of a block")
	fl.IntVar(&f.depth, "iodepth", 1, "writes in flight")
	fl.IntVar(&f.every, "fdatasync", 32, "number of writes between two syncs")
	fl.BoolVar(&f.direct, "direct", false, "write with direct I/O")
	fl.Int64Var(&f.rate, "rate", 0, "writes a second at most (0: no bound)")
	fl.StringVar(&f.journal, "journal", "", "file for the record of synced data, - for standard output; with --check the file to compare with, - for standard input")
	fl.BoolVar(&f.check, "check", false, "write nothing: compare the file with the journal")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.StringVar(&f.destructive, "destructive", "", "allow writing over this file or device; its data is then lost")
	return c
}

// verify writes a file and compares it, or compares it with a journal. The report is nil if standard output receives
// the journal.
func (a *app) verify(ctx context.Context, f verifyFlags, path string) (*durability.Report, error) {
	switch {
	case f.check && f.journal == "":
		return nil, usageError("--check needs --journal")
	case f.check:
		return durability.CheckFile(ctx, f.journal, a.stdin, path)
	case path == "":
		return nil, usageError("name the file to write, or --check a journal")
	}
	length, err := size.Parse(f.size)
	if err != nil {
		return nil, usageError("--size: %w", err)
	}
	bs, err := size.Parse(f.bs)
	if err != nil {
		return nil, usageError("--bs: %w", err)
	}
	o := durability.Options{Path: path, Size: length, BS: bs, Depth: f.depth, Every: f.every, Direct: f.direct, Rate: f.rate}
	return durability.Verify(ctx, o, durability.Outputs{Journal: f.journal, Stdout: a.stdout, Destructive: f.destructive})
}
