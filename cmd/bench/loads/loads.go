// Package loads compares package load with fio, side by side in one run.
//
//	bench load [-rounds N] [-runtime D] [-dir DIR] [-size N] [-fio PATH]
//
// In every round each figure is measured with both programs, one right after the other, in an order that changes from
// round to round; the ratio of the two is taken within the round. The table shows medians and the range of the ratios.
// The file is in the page cache, or under a loop device with direct I/O, and both programs keep a full histogram of
// latencies. A ring without any accounting shows the limit. Times on a shared machine mean little; ratios within a
// round mean more. The memory is that of the worker that plimsoll carries, including its agent. A second table compares
// plimsoll ab with ApacheBench.
//
// Without fio only the figures of package load are printed.
package loads

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"plimsoll/load"
)

// options are the flags.
type options struct {
	rounds  int
	runtime time.Duration
	dir     string
	size    int64
	fio     string
	child   bool
	bare    bool
}

// Run runs 'bench load' with these flags.
func Run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	var o options
	if len(args) > 0 && args[0] == "-ab" {
		return asAB(ctx, stdout, stderr, args[1:]) // The command line of a child.
	}
	fs := flag.NewFlagSet("bench load", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&o.rounds, "rounds", 5, "how often each figure is measured")
	fs.DurationVar(&o.runtime, "runtime", 2*time.Second, "how long each measurement takes")
	fs.StringVar(&o.dir, "dir", os.TempDir(), "the folder for the file")
	fs.Int64Var(&o.size, "size", 256<<20, "the size of the file in bytes")
	fs.StringVar(&o.fio, "fio", "fio", "the fio to compare with")
	fs.BoolVar(&o.child, "child", false, "run the job on standard input and print its result (used by bench load itself)")
	fs.BoolVar(&o.bare, "bare", false, "run the job on standard input on a ring without accounting (used by bench load itself)")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if o.child || o.bare {
		return child(ctx, stdin, stdout, o.bare)
	}
	if o.rounds < 1 || o.runtime < 100*time.Millisecond || o.runtime%time.Millisecond != 0 {
		return errors.New("-rounds must be 1 or more and -runtime whole milliseconds, 100ms or more")
	}
	return bench(ctx, o, stdout, stderr)
}

// child runs one job in its own process, as a worker does.
func child(ctx context.Context, stdin io.Reader, stdout io.Writer, without bool) error {
	var job load.Job
	if err := json.NewDecoder(stdin).Decode(&job); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	if without {
		r, err := bare(job)
		if err != nil {
			return fmt.Errorf("bare ring: %w", err)
		}
		return json.NewEncoder(stdout).Encode(r)
	}
	r, err := load.Prepare(job)
	if err != nil {
		return err
	}
	defer r.Close()
	res, err := r.Start(ctx, nil)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(res)
}
