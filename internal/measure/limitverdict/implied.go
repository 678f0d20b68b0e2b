package limitverdict

import (
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Implied returns what the rates of l, a trial's limits, mean in the other unit, at the sizes of its I/Os: "write_iops 100 lets 6.25 MiB/s
// through in I/Os of 64KiB". The page cache chooses the size of its I/Os, so for buffered writes it uses the largest I/O that the device
// takes. For a log, a tree or a command it gives only that.
func Implied(t *record.Trial, l limit.Limits) (words []string) {
	maxIO := int64(0)
	if len(t.Where) > 0 && t.FirstWhere().Device != nil {
		maxIO = t.FirstWhere().Device.MaxIO
	}
	reads, writes := sizes(t.Spec)
	for _, d := range []struct {
		sizes []int64
		keys  []limit.Key
	}{{reads, []limit.Key{limit.ReadBPS, limit.ReadIOPS}}, {writes, []limit.Key{limit.WriteBPS, limit.WriteIOPS}}, {slices.Concat(reads, writes), limit.SystemKeys}} {
		var own limit.Limits
		for _, k := range d.keys {
			own = own.With(k, l)
		}
		largest := slices.Contains(d.sizes, cached)
		for _, i := range own.Implied(d.sizes, maxIO) {
			if i.Largest && !largest && !slices.Contains(d.sizes, i.BlockSize) {
				continue
			}
			// Include the value, because sets of limits differ in it.
			words = append(words, string(i.By)+" "+l.Text(i.By)+strings.TrimPrefix(i.String(), string(i.By)))
		}
	}
	return words
}

// cached stands for the size of an I/O that the page cache chooses.
const cached = 0

// sizes returns the mean sizes of a workload's reads and writes at the device, in bytes, or cached; nothing for a kind
// that it lacks.
func sizes(s workload.Spec) (reads, writes []int64) {
	jobs := []load.Job{s.Job}
	switch s.Kind {
	case workload.Stage:
		jobs = nil
		for _, j := range s.Jobs {
			jobs = append(jobs, j.Job)
		}
	case workload.HTTP:
		return nil, nil
	case workload.Block:
	default:
		return []int64{cached}, []int64{cached}
	}
	for _, j := range jobs {
		read, write := j.MeanSizes()
		synced := j.Sync != "" || j.Fsync == 1 || j.FDataSync == 1
		reads = atDevice(reads, read, j.Direct)
		writes = atDevice(writes, write, j.Direct || synced)
	}
	return reads, writes
}

// atDevice adds the size of a job's I/Os, if it has any. at says that they reach the device as the job does them.
func atDevice(all []int64, size int64, at bool) []int64 {
	switch {
	case size == 0:
		return all
	case at:
		return append(all, size)
	}
	return append(all, cached)
}
