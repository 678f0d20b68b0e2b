package limits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/verify/row"
)

// How close to a limit direct I/O must come over ten seconds, and how far above it the first second may be.
const (
	offGoal       = 0.02
	overshootGoal = 0.20
	steady        = 10 * time.Second
	quickSteady   = 3 * time.Second
)

// A rung is a limit to test. Light rungs take so little of the machine that they are tested all at once; each of the
// others has the machine to itself.
type rung struct {
	key   limit.Key
	asked int64
	light bool
}

// rungs returns the limits to test, from 1 MB/s to 500 MB/s and from 50 to 20,000 IOPS, in both directions.
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
	// The lowest and the highest of both, in one direction each.
	return []rung{list[1], list[6], list[9], list[14]}
}

// A bed is where a rung is tested: a disk and a group of its own.
type bed interface {
	// try sets the limit and measures; its error is errSkip if that is impossible on this machine.
	try(ctx context.Context, r rung, t time.Duration) (row.Row, error)
	io.Closer
}

// accuracy prints how close direct I/O comes to the limits, and returns the number of missed goals.
func accuracy(ctx context.Context, stdout io.Writer, quick bool, newBed func(i int) (bed, error)) (missed int, err error) {
	t := steady
	if quick {
		t = quickSteady
	}
	list := rungs(quick)
	rows, errs := make([]row.Row, len(list)), make([]error, len(list))
	one := func(i int) {
		b, err := newBed(i)
		if err == nil {
			// The rate omits the first second.
			rows[i], err = b.try(ctx, list[i], t+time.Second)
			err = errors.Join(err, b.Close())
		}
		errs[i] = err
	}
	var light sync.WaitGroup
	for i, r := range list {
		if r.light {
			light.Go(func() { one(i) })
		}
	}
	light.Wait()
	for i, r := range list {
		if !r.light && ctx.Err() == nil {
			one(i)
		}
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	var all []figure.Figure
	for i := range list {
		var skip errSkip
		switch {
		case errors.As(errs[i], &skip):
			all = append(all, figure.Figure{Name: "accuracy", Skipped: string(skip)})
		case errs[i] != nil:
			return 0, fmt.Errorf("%s of %d: %w", list[i].key, list[i].asked, errs[i])
		default:
			all = append(all, nearness(rows[i])...)
			continue
		}
		break // No other limit is possible either.
	}
	return figure.Table(stdout, fmt.Sprintf("direct I/O, %v after the first second", t), "asked", all)
}

// nearness returns the figures of one limit: the rate beside the limit, and the rate of the first second.
func nearness(r row.Row) []figure.Figure {
	asked := float64(r.Asked)
	f := figure.Figure{Name: fmt.Sprintf("%s of %s", r.Key, r.Rate(asked)), Unit: r.Rate, Goal: figure.Goal{Op: figure.Near, Value: 1, Off: offGoal, Ratio: true}}
	if r.Elapsed == 0 {
		f.Failed = r.Words()
		return []figure.Figure{f}
	}
	first := f
	first.Name += ", first second"
	first.Goal = figure.Goal{Op: figure.AtMost, Value: 1 + overshootGoal, Ratio: true}
	f.Ours, f.Peer = []float64{asked * (1 + r.Off)}, []float64{asked}
	first.Ours, first.Peer = []float64{asked * (1 + r.Overshoot)}, []float64{asked}
	return []figure.Figure{f, first}
}
