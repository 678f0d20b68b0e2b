package fio

import (
	"bytes"
	"fmt"
	"time"

	"plimsoll/hist"
	"plimsoll/load"
)

// histBins is the number of bins in a line of write_hist_log: fio's FIO_IO_U_PLAT_NR. The last one also holds all
// longer latencies.
const histBins = 29 * 64

func setHistEvery(j *job, v string) error {
	n, err := parseInt(v, 0, 1<<31-1)
	switch {
	case err != nil:
	case n != 0 && n < 10:
		err = fmt.Errorf("%q: the shortest interval is 10 ms", v)
	default:
		j.histEvery = time.Duration(n) * time.Millisecond
	}
	return err
}

func setHistStride(j *job, v string) error {
	n, err := parseInt(v, 0, 6)
	if err == nil {
		j.histStride = 1 << n
	}
	return err
}

// logsHists reports whether the job's histogram log has lines.
func (j *job) logsHists() bool { return j.histLog != nil && j.histEvery > 0 }

// logHists writes a line per histogram: time in ms, direction, size of the I/O that ended the interval, bins.
func (m measured) logHists(w *bytes.Buffer) {
	epoch := m.epoch()
	for _, s := range m.result.Hists {
		d := m.clone.job.direction(s.Write)
		fmt.Fprintf(w, "%d, %d, %d", epoch+s.At.Milliseconds(), d, s.Size)
		for _, n := range m.clone.job.bins(s.Lat) {
			fmt.Fprintf(w, ", %d", n)
		}
		w.WriteByte('\n')
	}
}

// bins are the bins of one line.
func (j *job) bins(h *hist.Histogram) []uint64 {
	out := make([]uint64, histBins/j.histStride)
	for i, n := range h.All() {
		out[min(i, histBins-1)/j.histStride] += n
	}
	return out
}

// histograms makes the clones of a stage keep the histograms for their logs: as many as fit in one message, shared
// among clones and threads.
func histograms(stage []*clone) {
	n := 0
	for _, c := range stage {
		if c.job.logsHists() {
			n += max(c.load.IODepth, 1)
		}
	}
	for _, c := range stage {
		if c.job.logsHists() {
			c.spec.Job.HistEvery, c.spec.Job.MaxHists = c.job.histEvery, max(load.MostHists/n, 1)
		}
	}
}

// cutHists reports that the clone's histogram log ends early, "" if it is complete.
func (m measured) cutHists() string {
	all := m.result.Hists
	if !m.clone.job.logsHists() || len(all) < m.clone.spec.Job.MaxHists {
		return ""
	}
	if last := all[len(all)-1].At; m.result.Elapsed-last >= 2*m.clone.job.histEvery {
		return fmt.Sprintf("%s: its histogram log ends after %d histograms, at %v of %v; use a longer log_hist_msec", m.clone.job.name, len(all), last.Round(time.Millisecond), m.result.Elapsed.Round(time.Millisecond))
	}
	return ""
}
