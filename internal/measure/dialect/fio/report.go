package fio

import (
	"math"
	"slices"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// A report is the content of the output, independent of its format.
type report struct {
	now     time.Time
	elapsed time.Duration
	// pid is Plimsoll's: clones are not separate processes.
	pid int
	// ran is the duration of the stages, for the disks' utilization.
	ran       time.Duration
	globals   []keyValue
	jobs      []*jobReport
	groups    []*groupReport
	disks     []workload.DiskDelta
	heads     []*clone
	idle      *idleness // nil: not requested
	threads   int
	processes int
}

// jobReport is a clone, or all clones of a group with group_reporting.
type jobReport struct {
	job     *job
	group   int
	members int
	// own are the options of the last member, as in fio.
	own []keyValue
	// found is the depth that the last member's search ended with; 0: there was no search.
	found int
	// began: at least one of the members started. fio prints little for those that did not.
	began bool
	dirs  [3]dirReport // reads, writes, trims
	sync  hist.Histogram
	syncs int64
	// failed is the number of failed I/Os in a job that continued after errors, and firstError the first one's error
	// number.
	failed     int64
	firstError int
	// runtime is the sum over the members in ms.
	runtime int64
	cpu     load.ThreadUsage
	levels  [7]float64
	submits int64 // I/Os that were submitted one at a time
	steady  *workload.SteadyResult
	// percentiles, and whether clat's and lat's are shown, are those of the last member, as in fio.
	percentiles     []float64
	clatPct, latPct bool
	// open holds the figures timed from the schedule; nil for a closed loop.
	open *openLoop
	// mixed is all directions combined, nil where they are only shown separately.
	mixed *dirReport
}

// dirReport is one direction of a job.
type dirReport struct {
	ops, bytes int64
	// runtime is the longest member's, in ms.
	runtime int64
	lat     hist.Histogram
	bw      sampleStat // KiB/s
	iops    sampleStat
	// share is the share of the group's bandwidth in percent.
	share float64
	prios []load.PriorityLat // lat by priority, if kept separately
}

// sampleStat is the statistics of a rate's samples. Those of several clones add up, as in fio.
type sampleStat struct {
	n              int64
	min, max       float64
	mean, deviants float64 // deviants is the sum of squared distances from the mean
}

func newStat(xs []float64) sampleStat {
	if len(xs) == 0 {
		return sampleStat{}
	}
	s := sampleStat{n: int64(len(xs)), min: slices.Min(xs), max: slices.Max(xs)}
	for _, x := range xs {
		s.mean += x / float64(len(xs))
	}
	for _, x := range xs {
		s.deviants += (x - s.mean) * (x - s.mean)
	}
	return s
}

func (s *sampleStat) add(o sampleStat) {
	s.n += o.n
	s.min, s.max, s.mean, s.deviants = s.min+o.min, s.max+o.max, s.mean+o.mean, s.deviants+o.deviants
}

func (s sampleStat) stddev() float64 {
	if s.n < 2 {
		return 0
	}
	return math.Sqrt(s.deviants / float64(s.n-1))
}

// groupReport is the summary of a group, by direction.
type groupReport struct {
	dirs [3]groupDir
	// kbBase is the group's last job's, as in fio.
	kbBase int64
	// unified combines the values of the group's jobs by bitwise or, as fio does.
	unified unified
}

type groupDir struct {
	any            bool
	bytes          int64
	bw, min, max   int64 // bytes a second: total, slowest and fastest job
	minRun, maxRun int64 // ms
}

// perSecond is the rate of n in ms milliseconds.
func perSecond(n, ms int64) int64 {
	if ms == 0 {
		return 0
	}
	return int64(float64(n) * 1000 / float64(ms))
}

// report summarizes the measurements.
func (t *Test) report(all []measured, disks []workload.DiskDelta, ran time.Duration) *report {
	r := &report{globals: t.globals, ran: ran}
	if slices.ContainsFunc(all, func(m measured) bool { return len(m.clone.files) > 0 }) {
		r.disks = disks
	}
	for _, m := range all {
		j := m.clone.job
		if j.thread {
			r.threads++
		} else {
			r.processes++
		}
		if m.clone.number == 0 {
			r.heads = append(r.heads, m.clone)
		}
		last := len(r.jobs) - 1
		if last < 0 || !j.group || r.jobs[last].group != m.clone.group {
			r.jobs = append(r.jobs, &jobReport{job: j, group: m.clone.group})
			last++
		}
		r.jobs[last].add(m)
	}
	for _, j := range r.jobs {
		j.finish()
		for len(r.groups) <= j.group {
			r.groups = append(r.groups, &groupReport{})
		}
		r.groups[j.group].add(j)
	}
	for _, j := range r.jobs {
		for d := range j.dirs {
			dir := &j.dirs[d]
			if agg := float64(r.groups[j.group].dirs[d].bw) / 1024; agg > 0 {
				dir.share = min(dir.bw.mean*100/agg, 100)
			}
		}
		if m := j.mixed; m != nil {
			m.share = 100
			if agg := float64(r.groups[j.group].dirs[0].bw) / 1024; agg > 1 { // Also with both, as in fio.
				m.share = min(m.bw.mean*100/agg, 100)
			}
		}
	}
	return r
}

func sortedPercentiles(p []float64) []float64 { return slices.Sorted(slices.Values(p)) }

// add adds one clone.
func (j *jobReport) add(m measured) {
	j.members++
	j.began = j.began || len(m.result.Classes) > 0
	last := m.clone.job
	j.own = last.own
	j.percentiles, j.clatPct, j.latPct = sortedPercentiles(last.percentiles), last.clatPct, last.latPct
	ms := milliseconds(m.result.Elapsed)
	j.runtime += ms
	j.addResult(m.result.Result, ms, last.priority())
	if v := m.verify; v != nil {
		j.addResult(v.Result, milliseconds(v.Elapsed), last.priority())
		j.cpu = plus(j.cpu, v.Threads)
	}
	j.cpu = plus(j.cpu, m.result.Threads)
	j.found = m.result.Depth
	samples, lengths := m.intervals()
	for d := range j.dirs {
		var bw, iops []float64
		for i, s := range samples {
			ops, bytes := s.Ops-s.WriteOps, s.Bytes-s.WriteBytes
			if d == 1 {
				ops, bytes = s.WriteOps, s.WriteBytes
			}
			bw = append(bw, float64(bytes)/1024/lengths[i].Seconds())
			iops = append(iops, float64(ops)/lengths[i].Seconds())
		}
		if m.result.Class(className[d]) != nil {
			j.dirs[d].bw.add(newStat(bw))
			j.dirs[d].iops.add(newStat(iops))
		}
	}
	j.addDepth(m)
	j.addOpenLoop(m)
	if m.result.Steady != nil {
		j.steady = m.result.Steady
	}
}

var className = [3]string{"read", "write", load.Trim}

// addResult adds the counts of one run, which took ms milliseconds.
func (j *jobReport) addResult(r load.Result, ms int64, own load.Priority) {
	for d := range j.dirs {
		c := r.Class(className[d])
		if c == nil || c.Ops+c.InFlight+c.Failed == 0 {
			continue
		}
		dir := &j.dirs[d]
		dir.ops += c.Ops + c.Failed // fio counts issued I/Os.
		j.failed += c.Failed
		dir.bytes += c.Bytes
		dir.runtime = max(dir.runtime, ms)
		dir.lat.Merge(c.Lat)
		dir.prios = addPriorities(dir.prios, c, own)
	}
	if j.firstError == 0 {
		j.firstError = r.FirstError
	}
	// As in fio, end_fsync is not counted.
	if c := r.Class("sync"); c != nil && (j.job.fsync+j.job.fdatasync > 0 || j.job.replay.log != "") {
		j.syncs += c.Ops
		j.sync.Merge(c.Lat)
	}
}

func plus(a, b load.ThreadUsage) load.ThreadUsage {
	return load.ThreadUsage{
		User: a.User + b.User, System: a.System + b.System, Switches: a.Switches + b.Switches,
		MajorFaults: a.MajorFaults + b.MajorFaults, MinorFaults: a.MinorFaults + b.MinorFaults,
	}
}

// milliseconds rounds, but never to 0 unless d is 0.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(int64(d.Round(time.Millisecond)/time.Millisecond), 1)
}

// addDepth counts the depths that the clone's I/Os were started at. A closed loop of depth d starts its
// first d I/Os at depths 1 to d, and all others at d: each completion is followed by a start. With a rate or
// pauses the depth isn't known for each I/O; the mean number in flight (Little's law: rate times latency)
// stands for all.
func (j *jobReport) addDepth(m measured) {
	ops, lat := int64(0), 0.0
	for _, n := range className {
		if c := m.result.Class(n); c != nil && c.Lat != nil {
			ops += c.Ops
			lat += float64(c.Lat.Sum())
		}
	}
	l := m.clone.load
	d := int64(l.IODepth)
	if m.result.Depth > 0 {
		d = int64(m.result.Depth)
	}
	if l.IOEngine == load.PSync {
		j.submits += ops
	}
	if l.Rate+l.RateIOPS > 0 || l.ThinkTime > 0 {
		if m.result.Elapsed > 0 {
			d = min(d, max(int64(math.Round(lat/float64(m.result.Elapsed))), 1))
		}
		j.levels[level(d)] += float64(ops)
		return
	}
	filling := min(d-1, ops)
	if l.RampTime > 0 {
		filling = 0 // The depth was reached in the ramp.
	}
	for i := range filling {
		j.levels[level(i+1)]++
	}
	j.levels[level(d)] += float64(ops - filling)
}

// level is the index of fio's depth bucket: 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64 and more.
func level(d int64) int {
	l := 0
	for d > 1 && l < 6 {
		d >>= 1
		l++
	}
	return l
}

// finish turns counts into percentages. A count above 0 is at least 0.1 %, as in fio.
func (j *jobReport) finish() {
	if j.job.unified != apartOnly {
		j.mixed = j.mix()
	}
	total := 0.0
	for _, n := range j.levels {
		total += n
	}
	for i, n := range j.levels {
		if n > 0 {
			j.levels[i] = max(100*n/total, 0.1)
		}
	}
}

// buckets are fio's bounds of latencies: under 2 ns ... 1000 ns, 2 us ... 1000 us, 2 ms ... 2000 ms and more.
var (
	subMillis = []uint64{2, 4, 10, 20, 50, 100, 250, 500, 750, 1000}
	millis    = []uint64{2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000}
)

// distribution is the share of I/Os in each bucket, in percent: ns, us and ms.
func (j *jobReport) distribution() (ns, us [10]float64, ms [12]float64) {
	total := float64(int64(j.dirs[0].lat.Count()+j.dirs[1].lat.Count()+j.dirs[2].lat.Count()) + j.failed)
	for d := range j.dirs {
		for i, n := range j.dirs[d].lat.All() {
			v, share := hist.Value(i), 100*float64(n)/total
			switch {
			case v < 1000:
				ns[bucket(subMillis, v)] += share
			case v < 1e6:
				us[bucket(subMillis, v/1000)] += share
			default:
				ms[bucket(millis, v/1e6)] += share
			}
		}
	}
	for _, all := range [][]float64{ns[:], us[:], ms[:]} {
		for i, x := range all {
			if x > 0 {
				all[i] = max(x, 0.01)
			}
		}
	}
	return ns, us, ms
}

func bucket(bounds []uint64, v uint64) int {
	for i, b := range bounds {
		if v < b {
			return i
		}
	}
	return len(bounds)
}

// add adds a job to its group.
func (g *groupReport) add(j *jobReport) {
	g.kbBase = j.job.kbBase
	g.unified |= j.job.unified
	for d, dir := range j.shown() {
		if dir.ops == 0 {
			continue
		}
		s := &g.dirs[d]
		bw := perSecond(dir.bytes, dir.runtime)
		if !s.any {
			*s = groupDir{any: true, min: bw, max: bw, minRun: dir.runtime, maxRun: dir.runtime}
		}
		s.bytes += dir.bytes
		s.min, s.max = min(s.min, bw), max(s.max, bw)
		s.minRun, s.maxRun = min(s.minRun, dir.runtime), max(s.maxRun, dir.runtime)
		s.bw = perSecond(s.bytes, s.maxRun)
	}
}
