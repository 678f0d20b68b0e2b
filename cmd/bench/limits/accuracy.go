package limits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"text/tabwriter"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/text/goal"
)

// How near to a limit direct I/O shall come over ten seconds, and how far above it the first second may be.
const (
	offGoal       = 0.02
	overshootGoal = 0.20
	steady        = 10 * time.Second
	quickSteady   = 3 * time.Second
)

// A rung is a limit to be tried. Light ones take so little of the machine that they are tried all at once; each
// of the others has it to itself.
type rung struct {
	key   limit.Key
	asked int64
	light bool
}

// rungs are from 1 MB/s to 500 MB/s and from 50 to 20,000 IOPS, in both directions.
func rungs(quick bool) []rung {
	var list []rung
	for _, asked := range []int64{1e6, 10e6, 100e6, 500e6} {
		for _, key := range []limit.Key{limit.ReadBPS, limit.WriteBPS} {
			list = append(list, rung{key, asked, asked <= 10e6})
		}
	}
	for _, asked := range []int64{50, 1000, 5000, 20000} {
		for _, key := range []limit.Key{limit.ReadIOPS, limit.WriteIOPS} {
			list = append(list, rung{key, asked, asked <= 1000})
		}
	}
	if !quick {
		return list
	}
	// The ends of both, in one direction each.
	return []rung{list[1], list[6], list[9], list[14]}
}

// A bed is where a rung is tried: a disk and a group of its own.
type bed interface {
	// try sets the limit and measures; its error is errSkip where it can't be had here.
	try(ctx context.Context, r rung, t time.Duration) (verify.Row, error)
	io.Closer
}

// accuracy prints how near direct I/O comes to the limits.
func accuracy(ctx context.Context, stdout io.Writer, quick bool, newBed func(i int) (bed, error)) error {
	t := steady
	if quick {
		t = quickSteady
	}
	out := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "direct I/O, %v after the first second\tasked\tseen\terror\ttarget\tresult\tfirst second\ttarget\tresult\n", t)
	list := rungs(quick)
	rows, errs := make([]verify.Row, len(list)), make([]error, len(list))
	one := func(i int) {
		b, err := newBed(i)
		if err == nil {
			// The first second is left out of the rate.
			rows[i], err = b.try(ctx, list[i], t+time.Second)
			err = errors.Join(err, b.Close())
		}
		errs[i] = err
	}
	var all sync.WaitGroup
	for i, r := range list {
		if r.light {
			all.Go(func() { one(i) })
		}
	}
	all.Wait()
	for i, r := range list {
		if !r.light && ctx.Err() == nil {
			one(i)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range list {
		var skip errSkip
		switch {
		case errors.As(errs[i], &skip):
			fmt.Fprintf(out, "accuracy\tskipped: %s\n", skip)
			return out.Flush()
		case errs[i] != nil:
			return fmt.Errorf("%s of %d: %w", list[i].key, list[i].asked, errs[i])
		}
		accuracyRow(out, rows[i])
	}
	return out.Flush()
}

// accuracyRow prints one limit beside its targets.
func accuracyRow(out io.Writer, r verify.Row) {
	if r.Elapsed == 0 {
		fmt.Fprintf(out, "%s\t%s\t%s\t\t\t%s\n", r.Key, r.Rate(float64(r.Asked)), r.Words(), goal.Verdict(false))
		return
	}
	fmt.Fprintf(out, "%s\t%s\t%s\t%+.2f %%\t<= %g %%\t%s\t+%.1f %%\t<= %g %%\t%s\n", r.Key, r.Rate(float64(r.Asked)), r.Rate(r.App), r.Off*100,
		offGoal*100, goal.Verdict(math.Abs(r.Off) <= offGoal), r.Overshoot*100, overshootGoal*100, goal.Verdict(r.Overshoot <= overshootGoal))
}
