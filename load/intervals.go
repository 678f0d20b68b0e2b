package load

import (
	"cmp"
	"slices"
	"time"

	"plimsoll/hist"
)

// MostHists bounds Job.MaxHists: in a message a histogram takes some KB.
const MostHists = 4096

// A HistSample is the latencies of a thread's reads or of its writes in an interval of the window.
type HistSample struct {
	// At is the end of the interval, from the beginning of the window: the I/O that was complete then is the first of those after
	// Job.HistEvery, and Size is its size. An interval begins Job.HistEvery after the one before it began, and the first with the
	// first I/O that a millisecond of the window had gone by for, as those of fio's write_hist_log.
	At    time.Duration   `json:"at"`
	Size  int64           `json:"size"`
	Write bool            `json:"write,omitempty"`
	Lat   *hist.Histogram `json:"lat"`
}

// interval is an open interval of one kind of operation.
type interval struct {
	began int64 // ns from the beginning of the window, 0 until it is known
	lat   hist.Histogram
}

// inInterval counts an I/O that took lat until now in its interval, which it may end.
func (t *thread) inInterval(sl *slot, lat, now int64) {
	if t.open == nil {
		return
	}
	w := &t.open[sl.op&1]
	w.lat.Record(lat)
	at := now - t.run.begin.Load()
	if w.began == 0 {
		w.began = at / int64(time.Millisecond) * int64(time.Millisecond)
	}
	if at-w.began < int64(t.run.job.HistEvery) || len(t.hists) == cap(t.hists) {
		return
	}
	h := w.lat
	t.hists = append(t.hists, HistSample{At: time.Duration(at), Size: sl.size, Write: sl.op&1 == opWrite, Lat: &h})
	w.began += int64(t.run.job.HistEvery)
	w.lat.Reset()
}

// intervals joins those of the threads.
func (r *Run) intervals() (all []HistSample) {
	if r.job.HistEvery == 0 {
		return nil
	}
	for _, t := range r.threads {
		all = append(all, t.hists...)
	}
	slices.SortStableFunc(all, func(a, b HistSample) int { return cmp.Compare(a.At, b.At) })
	return all
}
