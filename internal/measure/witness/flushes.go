package witness

import (
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/workload"
)

const (
	// flushLook is how long other programs' flushes are counted before a trial, if any were seen. flushFloor is how
	// many in that time are more than the end of the trial's own preparation explains.
	flushLook  = 10 * time.Millisecond
	flushFloor = 3
)

// counts are what this machine's disks did from before a window to after it.
type counts struct {
	disks   []workload.DiskDelta
	flushes bool
	window  time.Duration
}

// flushRates are flushes per second, by the number of the disk.
type flushRates map[device.Number]float64

// A flushWatch counts what other programs flush between trials, while the workers do nothing. The kernel counts flushes
// per disk, so those of all programs are together.
type flushWatch struct {
	// last are the counts at the end of the last trial, with their time.
	last workload.DiskCounts
	at   time.Time
}

// look begins before a trial whose workers are ready; the function that it returns ends it. On a quiet machine it takes
// no time. The layout of a trial's files flushes too, so a disk with flushes since the last trial is checked once more.
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

// ratesOf returns the rates of disks that were flushed more than now and then.
func ratesOf(a, b workload.DiskCounts, d time.Duration) flushRates {
	disks, known := a.Until(b)
	if !known || d <= 0 {
		return nil
	}
	rates := flushRates{}
	for _, disk := range disks {
		if disk.Flushes >= flushFloor {
			rates[disk.Number] = float64(disk.Flushes) / d.Seconds()
		}
	}
	return rates
}
