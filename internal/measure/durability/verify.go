package durability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// Outputs are the outputs of Verify besides the file.
type Outputs struct {
	// Journal is the name of a new file for the journal. "-": Stdout, and nothing is compared. "": none.
	Journal string
	Stdout  io.Writer
	// Destructive must name the file if it may be overwritten.
	Destructive string
}

// Verify creates the file of o, writes it, and compares it with what was synced. The report is nil if the journal went
// to Stdout. Errors of the user's are *usage.Errors; nothing has been created then.
func Verify(ctx context.Context, o Options, out Outputs) (r *Report, err error) {
	if o.Path, err = filepath.Abs(o.Path); err != nil {
		return nil, err
	}
	var buffer journalBuffer
	if err := o.Check(); err != nil {
		return nil, usage.Errorf("%w", err)
	}
	closeJournal, err := openJournal(out.Journal, out.Stdout, &o, &buffer)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeJournal()) }()
	file, own, err := workload.MakeFile(ctx, o.Path, o.Size, []string{out.Destructive})
	if err != nil {
		if errors.Is(err, workload.ErrOverwrite) {
			return nil, usage.Errorf("%w", err)
		}
		if ctx.Err() != nil {
			return nil, errors.New("interrupted while the file was made: nothing was verified")
		}
		return nil, err
	}
	defer file.Close()
	o.File = file
	n, err := Write(ctx, o)
	if own {
		workload.MarkFile(file) // An incomplete file is marked too, so that it may be overwritten.
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted; %d blocks were written and synced before", n)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; %d blocks were written and synced before", err, n)
	}
	if out.Journal == "-" {
		return nil, nil // Standard output is the journal's.
	}
	return Check(ctx, buffer.reader(), o.Path)
}

// CheckFile compares a file with the journal in another file, "-" for stdin. If path is "", the journal names the file.
// Errors of the user's are *usage.Errors.
func CheckFile(ctx context.Context, journal string, stdin io.Reader, path string) (*Report, error) {
	if journal != "-" {
		if _, err := os.Stat(journal); err != nil {
			return nil, usage.Errorf("--journal: open %s: %w", journal, userfile.Reason(err))
		}
	}
	in := userfile.Open(ctx, userfile.Argument(journal, stdin))
	defer in.Close()
	r, err := Check(ctx, in, path)
	if err != nil && ctx.Err() != nil {
		return nil, errors.New("interrupted before all blocks were compared: there is no result")
	}
	return r, err
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s: %d of %d blocks of %s were acknowledged and synced\n", clean.Line(r.Path), r.Flushed, r.Blocks, size.Format(r.BS))
	fmt.Fprintf(w, "  %d of them are there and whole, %d are not\n", r.Flushed-r.Bad, r.Bad)
	if r.Flushed < r.Blocks {
		fmt.Fprintf(w, "  %d later ones are there too\n", r.Later)
	}
	for _, x := range r.Faults {
		fmt.Fprintf(w, "  ! write %d, %d bytes at offset %d: %s\n", x.Write, x.Size, x.Offset, x.Found)
	}
	if n := r.Bad - int64(len(r.Faults)); n > 0 {
		fmt.Fprintf(w, "  ! and %d more\n", n)
	}
}
