package fio

import (
	"bytes"
	"fmt"
	"strings"

	"plimsoll/hist"
)

// terse is fio's older output: one line of fields, separated by semicolons, for each job. Versions 2 to 5 differ in
// their fields: see "Terse output" in fio's HOWTO. Times are microseconds, bandwidths KiB a second.
func (r *report) terse(v int) []byte {
	var w bytes.Buffer
	for _, j := range r.jobs {
		if v == 2 {
			fmt.Fprintf(&w, "2;%s;%d;%d", j.job.name, j.group, j.firstError)
		} else {
			fmt.Fprintf(&w, "%d;%s;%s;%d;%d", v, version, j.job.name, j.group, j.firstError)
		}
		for d := range j.dirs {
			if j.job.unified != mixedOnly && (d < 2 || v != 3) {
				j.dirs[d].terse(&w, j, v)
			}
		}
		if j.mixed != nil {
			j.mixed.terse(&w, j, v)
		}
		fmt.Fprintf(&w, ";%f%%;%f%%;%d;%d;%d", j.cpuShare(j.cpu.User), j.cpuShare(j.cpu.System), j.cpu.Switches, j.cpu.MajorFaults, j.cpu.MinorFaults)
		for _, x := range j.levels {
			fmt.Fprintf(&w, ";%3.1f%%", x)
		}
		ns, us, ms := j.distribution()
		for _, x := range ns {
			us[0] += x // Latencies under a microsecond have no field.
		}
		for _, x := range append(us[:], ms[:]...) {
			fmt.Fprintf(&w, ";%3.2f%%", x)
		}
		if v > 2 {
			for _, d := range r.disks {
				fmt.Fprintf(&w, ";%s;%d;%d;%d;%d;%d;%d;%d;%3.2f%%", d.Name, d.Reads, d.Writes, d.ReadMerges, d.WriteMerges,
					d.ReadTime.Milliseconds(), d.WriteTime.Milliseconds(), (d.ReadTime + d.WriteTime).Milliseconds(), r.util(d.Busy))
			}
		}
		if j.job.countsErrors() {
			fmt.Fprintf(&w, ";%d;%d", j.failed, j.firstError)
		}
		if text := j.job.description; text != "" {
			w.WriteString(map[bool]string{true: "\n;", false: ";"}[v == 2] + text)
		}
		w.WriteByte('\n')
	}
	return w.Bytes()
}

// terse prints the fields of a direction, zeros if it did no I/O.
func (d *dirReport) terse(w *bytes.Buffer, j *jobReport, v int) {
	fmt.Fprintf(w, ";%d;%d;%d;%d", d.bytes>>10, perSecond(d.bytes, d.runtime)>>10, perSecond(d.ops, d.runtime), d.runtime)
	var none hist.Histogram
	terseLatency(w, &none) // Submission is not timed separately.
	terseLatency(w, &d.lat)
	n := 0
	if j.job.clatPct || j.job.latPct {
		for _, p := range j.percentiles {
			at := uint64(0)
			if d.lat.Count() > 0 {
				at = percentile(&d.lat, p)
			}
			fmt.Fprintf(w, ";%f%%=%d", p, at/1000)
			n++
		}
	}
	w.WriteString(strings.Repeat(";0%=0", max(maxPercentiles-n, 0)))
	terseLatency(w, &d.lat)
	fmt.Fprintf(w, ";%d;%d;%f%%;%f;%f", int64(d.bw.min), int64(d.bw.max), d.share, d.bw.mean, d.bw.stddev())
	if v == 5 {
		fmt.Fprintf(w, ";%d;%d;%d;%f;%f;%d", d.bw.n, int64(d.iops.min), int64(d.iops.max), d.iops.mean, d.iops.stddev(), d.iops.n)
	}
}

func terseLatency(w *bytes.Buffer, h *hist.Histogram) {
	fmt.Fprintf(w, ";%d;%d;%f;%f", h.Min()/1000, h.Max()/1000, h.Mean()/1000, h.StdDev()/1000)
}
