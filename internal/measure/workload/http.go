package workload

import (
	"context"
	"time"

	"plimsoll/internal/measure/httpload"
	"plimsoll/load"
)

// httpRun sends requests to a web server. It lays out nothing and leaves nothing behind.
type httpRun struct{ spec httpload.Spec }

// Run implements Runner. The class counts requests and the bytes of answers; its latencies are those of whole requests,
// with their connections. With a time limit the window ends, as ab's does, with the first answer after it. Result.HTTP has
// the rest of ab's report.
func (h *httpRun) Run(ctx context.Context, onSample func(load.Sample)) (*Result, error) {
	m := newMeter(h.spec.Limit, onSample, nil, "request")
	c := httpload.Client{Spec: h.spec, OnDone: func(int) { m.request() }}
	tally, err := c.Run(ctx)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, m.partial(err)
	}
	class := &m.classes[0]
	class.Ops, class.Bytes = int64(len(tally.Timings)), tally.Read
	class.InFlight, class.AtLeast = int64(len(tally.InFlight)), int64(tally.Unanswered)
	for _, all := range []httpload.Timings{tally.Timings, tally.InFlight} {
		for _, t := range all {
			class.Lat.Record(t.Total * int64(time.Microsecond))
		}
	}
	r := m.finish()
	r.WallElapsed += tally.Elapsed - r.Elapsed
	r.Elapsed, r.Drained = tally.Elapsed, tally.Drained
	// Requests are no I/O of a place.
	r.IOEngine, r.HTTP = "", tally
	return r, nil
}

// Close implements Runner.
func (h *httpRun) Close() error { return nil }
