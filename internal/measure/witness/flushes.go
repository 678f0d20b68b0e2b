package witness

import (
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/workload"
)

const (
	// flushLook is for how long other programs' flushes are counted before a trial where some were seen, and flushFloor how many
	// in that time are more than the end of the trial's own preparation.
	flushLook  = 10 * time.Millisecond
	flushFloor = 3
)

// counts are what this machine's disks did from before a window to after it.
type counts struct {
	disks   []workload.DiskDelta
	flushes bool
	window  time.Duration
}

// flushRates are flushes a second, by the number of the disk.
type flushRates map[device.Number]float64

// A flushWatch counts what other programs flush between trials, when the workers do nothing. The flushes of a disk are everybody's, and
// the kernel counts them for the whole disk only.
type flushWatch struct {
	// last are the counts at the end of the trial before, at its time.
	last workload.DiskCounts
	at   time.Time
}

// look begins before a trial whose workers are ready, and ends with the function that it returns. On a quiet machine it takes no time. The layout of a
// trial's files flushes too, so a disk that was flushed since the last trial is looked at once more.
func (w *flushWatch) look(proc string, each []seen) func() flushRates {
	begin, before := time.Now(), workload.ReadDisks(proc)
	layers := false
	for i := range each {
		layers = layers || len(each[i].layers)+len(each[i].host) > 0
	}
	since, gap := w.last, begin.Sub(w.at)
	return func() flushRates {
		if !layers || !before.Known() {
			return nil
		}
		if since.Known() && gap >= flushLook && len(ratesOf(since, before, gap)) == 0 {
			return nil
		}
		time.Sleep(flushLook - time.Since(begin))
		after := workload.ReadDisks(proc)
		return ratesOf(before, after, time.Since(begin))
	}
}

// ratesOf are those of disks that were flushed more than now and then.
func ratesOf(a, b workload.DiskCounts, d time.Duration) flushRates {
	disks, known := a.Until(b)
	if !known || d <= 0 {
		return nil
	}
	rates := flushRates{}
	for _, disk := range disks {
		if disk.Flushes >= flushFloor {
			rates[disk.Number()] = float64(disk.Flushes) / d.Seconds()
		}
	}
	return rates
}
