package load

import (
	"cmp"
	"slices"
	"time"

	"plimsoll/hist"
)

// MostHists is the maximum of Job.MaxHists: a histogram takes some KB in a message.
const MostHists = 4096

// A HistSample holds the latencies of a thread's reads or writes in one interval of the window.
type HistSample struct {
	// At is the end of the interval, from the beginning of the window. The interval ends with the first I/O to complete
	// after Job.HistEvery, whose size is Size. The first interval begins with the first I/O that completes after a
	// millisecond of the window, as in fio's write_hist_log; each later one begins Job.HistEvery after the one before
	// it.
	At    time.Duration   `json:"at"`
	Size  int64           `json:"size"`
	Write bool            `json:"write,omitempty"`
	Lat   *hist.Histogram `json:"lat"`
}

// interval is the open interval of one kind of operation.
type interval struct {
	began int64 // ns from the beginning of the window; 0 until known
	lat   hist.Histogram
}

// inInterval counts an I/O that completed at now and took lat. It may end the interval.
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

// intervals joins the intervals of the threads.
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
