package fio

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/hist"
	"plimsoll/load"
)

// figures and latencyFigures are the maximum digits of a number and of a latency, as in fio.
const (
	figures        = 4
	latencyFigures = 6
)

// number prints n with a suffix and at most that many digits: with four, 9999, 10.0k and 1.23M.
func number(n, thousand float64, figures int, suffixes []string) string {
	i := 0
	for n >= math.Pow10(figures) && i < len(suffixes)-1 {
		n /= thousand
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%.0f%s", math.Floor(n), suffixes[0])
	}
	digits := len(fmt.Sprintf("%.0f", math.Floor(n)))
	// The point takes a place too.
	decimals := max(figures-digits-1, 0)
	return fmt.Sprintf("%.*f%s", decimals, n, suffixes[i])
}

var (
	plainSuffixes  = []string{"", "k", "M", "G", "T", "P"}
	binarySuffixes = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	metricSuffixes = []string{"B", "kB", "MB", "GB", "TB", "PB"}
)

func count(n float64) string { return number(n, 1000, figures, plainSuffixes) }

// binary and metric print bytes: 9999B, 64.0KiB, 4096KiB.
func binary(n int64) string { return number(float64(n), 1024, figures, binarySuffixes) }
func metric(n int64) string { return number(float64(n), 1000, figures, metricSuffixes) }

// inBase prints bytes in the units of kb_base, inOther in the units that follow in brackets.
func inBase(n, kbBase int64) string {
	if kbBase == 1000 {
		return metric(n)
	}
	return binary(n)
}
func inOther(n, kbBase int64) string { return inBase(n, otherBase(kbBase)) }

// otherBase is 1000 for 1024, and 1024 for 1000.
func otherBase(kbBase int64) int64 { return kbBase ^ 1000 ^ 1024 }

// head is the output before the jobs start.
func (r *report) head() []byte {
	var w bytes.Buffer
	for _, c := range r.heads {
		head(&w, c)
	}
	fmt.Fprintln(&w, version)
	fmt.Fprintf(&w, "Starting %s\n", started(r.processes, r.threads))
	return w.Bytes()
}

// text is fio's normal output, for the whole test or for the results so far.
func (r *report) text() []byte {
	var w bytes.Buffer
	w.WriteByte('\n')
	for _, j := range r.jobs {
		j.text(&w, r)
	}
	for i, g := range r.groups {
		fmt.Fprintf(&w, "\nRun status group %d (all jobs):\n", i)
		k := g.kbBase
		for d, name := range []string{"   READ", "  WRITE", "   TRIM"} {
			if g.unified == mixedOnly {
				name = mixedName
			}
			g.dirs[d].text(&w, name, k)
		}
		if g.unified == apartAndMixed {
			g.mix().text(&w, mixedName, k)
		}
	}
	if len(r.disks) > 0 {
		fmt.Fprintf(&w, "\nDisk stats (read/write):\n")
	}
	for _, d := range r.disks {
		fmt.Fprintf(&w, "  %s: ios=%d/%d, merge=%d/%d, ticks=%d/%d, in_queue=%d, util=%3.2f%%\n", d.Name, d.Reads, d.Writes,
			d.ReadMerges, d.WriteMerges, d.ReadTime.Milliseconds(), d.WriteTime.Milliseconds(), (d.ReadTime + d.WriteTime).Milliseconds(), r.util(d.Busy))
	}
	if r.idle != nil {
		r.idle.text(&w)
	}
	r.openLoopText(&w)
	return w.Bytes()
}

// text writes the line of a direction that did any I/O.
func (s groupDir) text(w *bytes.Buffer, name string, k int64) {
	if s.any {
		fmt.Fprintf(w, "%s: bw=%s/s (%s/s), %s/s-%s/s (%s/s-%s/s), io=%s (%s), run=%d-%dmsec\n", name,
			inBase(s.bw, k), inOther(s.bw, k), inBase(s.min, k), inBase(s.max, k), inOther(s.min, k), inOther(s.max, k),
			inBase(s.bytes, k), inOther(s.bytes, k), s.minRun, s.maxRun)
	}
}

func started(processes, threads int) string {
	plural := func(n int, one, more string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, more)
	}
	var parts []string
	if threads > 0 {
		parts = append(parts, plural(threads, "thread", "threads"))
	}
	if processes > 0 {
		parts = append(parts, plural(processes, "process", "processes"))
	}
	return strings.Join(parts, " and ")
}

// head is the line of a job before the results.
func head(w *bytes.Buffer, c *clone) {
	j := c.job
	fmt.Fprintf(w, "%s: (g=%d): rw=%s, bs=(R) %s, (W) %s, (T) %s, ioengine=%s, iodepth=%d\n",
		j.name, c.group, j.rw, j.spans[0], j.spans[1], j.spans[2], j.ioengine, j.iodepth)
	if j.numjobs > 1 {
		w.WriteString("...\n")
	}
}

// span shows the smallest and the largest block size of a direction.
func span(all []load.SizeShare, bs, kbBase int64) string {
	lo, hi := bs, bs
	for i, s := range all {
		if i == 0 {
			lo, hi = s.Size, s.Size
		}
		lo, hi = min(lo, s.Size), max(hi, s.Size)
	}
	return inBase(lo, kbBase) + "-" + inBase(hi, kbBase)
}

func (j *jobReport) text(w *bytes.Buffer, r *report) {
	if !j.began {
		return
	}
	fmt.Fprintf(w, "%s: (groupid=%d, jobs=%d): err=%s: pid=%d: %s\n", j.job.name, j.group, j.members, j.errText(), r.pid, r.now.Format(time.ANSIC))
	if j.job.description != "" {
		fmt.Fprintf(w, "  Description  : [%s]\n", j.job.description)
	}
	if j.job.unified != mixedOnly {
		for d, name := range className {
			j.dirs[d].text(w, j, name, d == 1, r.groups[j.group].kbBase)
		}
	}
	if j.mixed != nil {
		j.mixed.text(w, j, "mixed", false, r.groups[j.group].kbBase)
	}
	j.distributionText(w)
	if j.syncs > 0 {
		w.WriteString("  fsync/fdatasync/sync_file_range:\n")
		latencyLine(w, "  sync", &j.sync)
		j.percentileText(w, "sync", &j.sync)
	}
	fmt.Fprintf(w, "  cpu          : usr=%3.2f%%, sys=%3.2f%%, ctx=%d, majf=%d, minf=%d\n",
		j.cpuShare(j.cpu.User), j.cpuShare(j.cpu.System), j.cpu.Switches, j.cpu.MajorFaults, j.cpu.MinorFaults)
	fmt.Fprintf(w, "  IO depths    : %s\n", list(levelNames, j.levels[:]))
	fmt.Fprintf(w, "     submit    : %s\n", list(batchNames, j.batches()))
	fmt.Fprintf(w, "     complete  : %s\n", list(batchNames, j.batches()))
	all := j.shown()
	fmt.Fprintf(w, "     issued rwts: total=%d,%d,%d,%d short=0,0,0,0 dropped=0,0,0,0\n", all[0].ops, all[1].ops, all[2].ops, j.syncs)
	if j.job.countsErrors() {
		fmt.Fprintf(w, "     errors    : total=%d, first_error=%d/<%s>\n", j.failed, j.firstError, errorText(j.firstError))
	}
	fmt.Fprintf(w, "     latency   : target=%d, window=%d, percentile=%.2f%%, depth=%d\n",
		j.job.target.Latency.Nanoseconds(), j.job.target.Window.Microseconds(), j.job.target.Percent, j.depth())
	if j.steady != nil {
		j.steadyText(w, r.groups[j.group].kbBase)
	}
}

// errText is the first of the errors after which the job continued.
func (j *jobReport) errText() string {
	if j.firstError == 0 {
		return " 0"
	}
	return fmt.Sprintf("%2d (func=xfer, error=%s)", j.firstError, errorText(j.firstError))
}

func list(names []string, xs []float64) string {
	var parts []string
	for i, n := range names {
		parts = append(parts, fmt.Sprintf("%s=%3.1f%%", n, xs[i]))
	}
	return strings.Join(parts, ", ")
}

func (d *dirReport) text(w *bytes.Buffer, j *jobReport, name string, write bool, kbBase int64) {
	// An I/O that was in flight for the whole window is not counted, but has a latency.
	if d.ops == 0 && d.lat.Count() == 0 {
		return
	}
	bw := perSecond(d.bytes, d.runtime)
	fmt.Fprintf(w, "  %s: IOPS=%s, BW=%s/s (%s/s)(%s/%dmsec)", name, count(float64(perSecond(d.ops, d.runtime))), inBase(bw, kbBase), inOther(bw, kbBase), inBase(d.bytes, kbBase), d.runtime)
	if write {
		w.WriteString("; 0 zone resets")
	}
	w.WriteByte('\n')
	latencyLine(w, "  clat", &d.lat)
	latencyLine(w, "   lat", &d.lat)
	d.priorityLines(w, j)
	if j.clatPct {
		j.percentileText(w, "clat", &d.lat)
	}
	if j.latPct {
		j.percentileText(w, "lat", &d.lat)
	}
	d.priorityPercentiles(w, j)
	if d.bw.n == 0 {
		return
	}
	unit, f := "KiB", 1.0
	if kbBase == 1000 {
		unit = "kB" // They are KiB all the same, in fio too.
	}
	if k := float64(kbBase); d.bw.mean > k*k {
		unit, f = "MiB", k
	}
	fmt.Fprintf(w, "   bw (%5s/s): min=%5.0f, max=%5.0f, per=%3.2f%%, avg=%5.2f, stdev=%5.2f, samples=%d\n", unit,
		math.Floor(d.bw.min/f), math.Floor(d.bw.max/f), d.share, d.bw.mean/f, d.bw.stddev()/f, d.bw.n)
	fmt.Fprintf(w, "   iops        : min=%5.0f, max=%5.0f, avg=%5.2f, stdev=%5.2f, samples=%d\n",
		math.Floor(d.iops.min), math.Floor(d.iops.max), d.iops.mean, d.iops.stddev(), d.iops.n)
}

// latencyLine prints the moments, in the unit that fio chooses by minimum, maximum and spread.
func latencyLine(w *bytes.Buffer, name string, h *hist.Histogram) {
	lo, hi, mean, dev := float64(h.Min()), float64(h.Max()), h.Mean(), h.StdDev()
	unit, f := "nsec", 1.0
	switch {
	case lo > 2e6 && hi > 99999999 && dev > 1e6:
		unit, f = "msec", 1e6
	case lo > 2000 && hi > 99999 && dev > 1000:
		unit, f = "usec", 1e3
	}
	fmt.Fprintf(w, "  %s (%s): min=%s, max=%s, avg=%5.2f, stdev=%5.2f\n", name, unit,
		number(math.Floor(lo/f), 1000, latencyFigures, plainSuffixes), number(math.Floor(hi/f), 1000, latencyFigures, plainSuffixes), mean/f, dev/f)
}

// percentileText prints the table of percentiles; all are in one unit.
func (j *jobReport) percentileText(w *bytes.Buffer, name string, h *hist.Histogram) {
	if h.Count() == 0 {
		return
	}
	values := make([]uint64, len(j.percentiles))
	precision := 2
	for i, p := range j.percentiles {
		values[i] = percentile(h, p)
		s := strings.TrimRight(fmt.Sprintf("%.6f", p), "0")
		precision = max(precision, len(s)-strings.IndexByte(s, '.')-1)
	}
	lo, hi := values[0], values[len(values)-1]
	unit, div := "nsec", uint64(1)
	switch {
	case lo > 2000000 && hi > 99999999:
		unit, div = "msec", 1000000
	case lo > 2000 && hi > 99999:
		unit, div = "usec", 1000
	}
	width := 5
	for i := range values {
		if div > 1 {
			values[i] = (values[i] + div/2) / div
		}
		width = max(width, len(fmt.Sprint(values[i])))
	}
	fmt.Fprintf(w, "    %s percentiles (%s):\n     |", name, unit)
	perLine := max((80-7)/(precision+10+width), 1)
	for i, p := range j.percentiles {
		if i > 0 && i%perLine == 0 {
			w.WriteString("     |")
		}
		fmt.Fprintf(w, " %*.*fth=[%*d]", precision+3, precision, p, width, values[i])
		switch {
		case i == len(values)-1:
			w.WriteByte('\n')
		case i%perLine == perLine-1:
			w.WriteString(",\n")
		default:
			w.WriteByte(',')
		}
	}
}

// distributionText prints the shares of I/Os by latency, five in a line.
func (j *jobReport) distributionText(w *bytes.Buffer) {
	ns, us, ms := j.distribution()
	line := func(unit string, names []string, xs []float64) {
		n := 0
		for i, x := range xs {
			if x == 0 {
				continue
			}
			switch {
			case n%5 == 0 && n > 0:
				fmt.Fprintf(w, "\n  lat (%s)   : ", unit)
			case n == 0:
				fmt.Fprintf(w, "  lat (%s)   : ", unit)
			default:
				w.WriteString(", ")
			}
			fmt.Fprintf(w, "%s=%3.2f%%", names[i], x)
			n++
		}
		if n > 0 {
			w.WriteByte('\n')
		}
	}
	line("nsec", subNames, ns[:])
	line("usec", subNames, us[:])
	line("msec", msNames, ms[:])
}

func (j *jobReport) steadyText(w *bytes.Buffer, kbBase int64) {
	c, s := j.job.steady, j.steady
	yes := "no"
	if s.Attained {
		yes = "yes"
	}
	what := "mean dev"
	if c.Slope {
		what = "slope"
	}
	pct := ""
	if c.Percent {
		pct = "%"
	}
	bw := mean(s.BW)
	fmt.Fprintf(w, "  steadystate  : attained=%s, bw=%s/s (%s/s), iops=%s, %s %s=%.3f%s\n", yes, inBase(bw, kbBase), inOther(bw, kbBase), count(float64(mean(s.IOPS))), c.Metric, what, s.Figure, pct)
}
