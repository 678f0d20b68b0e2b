package workload

import (
	"context"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/httpload"
	"plimsoll/load"
)

// httpRun asks a web server: nothing is laid out, and nothing is left.
type httpRun struct{ spec httpload.Spec }

// Run implements Runner. The class counts requests and the bytes of answers; its latencies are whole requests, with
// their connections. What ab's report needs beyond that is in Result.HTTP.
func (h *httpRun) Run(ctx context.Context, onSample func(load.Sample)) (*Result, error) {
	win := openWindow()
	m := newMeter(h.spec.Limit, onSample)
	c := httpload.Client{Spec: h.spec, OnDone: func(int) { m.done(time.Now(), 0) }}
	tally, err := c.Run(ctx)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, m.partial(err)
	}
	class := load.Class{Name: "request", Ops: int64(len(tally.Timings)), Bytes: tally.Read, Lat: new(hist.Histogram)}
	for _, t := range tally.Timings {
		class.Lat.Record(t.Total * int64(time.Microsecond))
	}
	r := m.finish(class)
	win.close(r)
	// Requests are no I/O of a place.
	r.IOEngine, r.HTTP = "", tally
	return r, nil
}

// Close implements Runner.
func (h *httpRun) Close() error { return nil }
