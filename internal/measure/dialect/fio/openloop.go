package fio

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// openLoop holds the measurements of a job with a rate, timed from its schedule. fio has no such figures: its
// latencies start when an I/O is submitted, however late that is. They are printed where programs that read fio's
// output don't look: in JSON under Plimsoll's own keys, in text after all of fio's lines.
type openLoop struct {
	late, missed int64
	worst        int64 // the largest start delay of an I/O, in ns
	poisson      bool
	dirs         [3]openDir
}

// openDir is one direction of an open loop.
type openDir struct {
	iops, bytes int64 // requested, per second
	response    hist.Histogram
}

// addOpenLoop adds a clone's measurements, if it has a rate.
func (j *jobReport) addOpenLoop(m measured) {
	l := m.clone.load
	if !l.OpenLoop() {
		return
	}
	if j.open == nil {
		j.open = new(openLoop)
	}
	o := j.open
	o.late, o.missed = o.late+m.result.Late, o.missed+m.result.Missed
	o.worst = max(o.worst, int64(m.result.MaxLate))
	o.poisson = o.poisson || l.RateProcess == load.Poisson
	asked := [3]openDir{{iops: l.RateIOPS, bytes: l.Rate}, {iops: l.WriteRateIOPS, bytes: l.WriteRate}}
	switch {
	case l.Reads():
	case l.RW == load.Trim || l.RW == load.RandTrim:
		asked[0], asked[2] = asked[2], asked[0]
	default:
		asked[0], asked[1] = asked[1], asked[0]
	}
	for d, name := range className {
		o.dirs[d].iops += asked[d].iops
		o.dirs[d].bytes += asked[d].bytes
		if c := m.result.Class(name); c != nil && c.Response != nil {
			o.dirs[d].response.Merge(c.Response)
		}
	}
}

// ops is the number of I/Os started.
func (o *openLoop) ops() int64 {
	return int64(o.dirs[0].response.Count() + o.dirs[1].response.Count() + o.dirs[2].response.Count())
}

// json is the job's own figures.
func (o *openLoop) json() object {
	process := load.Linear
	if o.poisson {
		process = load.Poisson
	}
	return object{{"rate_process", process}, {"late_ios", o.late}, {"late_after_ns", load.LateAfter.Nanoseconds()}, {"max_late_ns", o.worst}, {"missed_ios", o.missed}}
}

// dirJSON is the part of a direction that fio's keys don't have: the requested rate and the response times.
func (j *jobReport) dirJSON(d int, plus bool) object {
	if j.open == nil {
		return nil
	}
	return j.open.dirs[d].json(j, plus)
}

func (o *openDir) json(j *jobReport, plus bool) object {
	if o.iops+o.bytes == 0 {
		return nil
	}
	// The percentiles are the point of response times: no fio option turns them off.
	out := object{{"response_ns", j.latency(&o.response, true, plus)}}
	if o.bytes > 0 {
		return append(out, member{"offered_bw_bytes", o.bytes})
	}
	return append(out, member{"offered_iops", float(o.iops)})
}

// openLoopHead begins the open loop's part of the normal output.
const openLoopHead = "\nOpen loop, timed from the schedule (by Plimsoll; fio has no such figures):\n"

// openLoopText writes the part of the normal output that fio doesn't have.
func (r *report) openLoopText(w *bytes.Buffer) {
	head := false
	for _, j := range r.jobs {
		o := j.open
		if o == nil {
			continue
		}
		if !head {
			w.WriteString(openLoopHead)
			head = true
		}
		poisson := ""
		if o.poisson {
			poisson = ", Poisson arrivals"
		}
		fmt.Fprintf(w, "  %s: %d of %d started more than %s late, the latest by %s; %d never started%s\n", j.job.name,
			o.late, o.ops(), spell(load.LateAfter), spell(time.Duration(o.worst)), o.missed, poisson)
		for d, name := range className {
			o.dirs[d].text(w, name, &j.dirs[d])
		}
	}
}

// text writes a direction's line. It avoids the words by which programs recognize fio's lines.
func (o *openDir) text(w *bytes.Buffer, name string, d *dirReport) {
	if o.iops+o.bytes == 0 {
		return
	}
	asked, got := count(float64(o.iops))+" IOPS", count(float64(perSecond(d.ops, d.runtime)))
	if o.bytes > 0 {
		asked, got = binary(o.bytes)+"/s", binary(perSecond(d.bytes, d.runtime))+"/s"
	}
	at := func(h *hist.Histogram, p float64) string { return spell(time.Duration(h.Percentile(p))) }
	fmt.Fprintf(w, "    %-5s asked %s, got %s; response time: mean %s, p50 %s, p99 %s, p99.9 %s, max %s; service time: p99 %s\n", name, asked, got,
		spell(time.Duration(o.response.Mean())), at(&o.response, 50), at(&o.response, 99), at(&o.response, 99.9), spell(time.Duration(o.response.Max())), at(&d.lat, 99))
}

// spell prints a time for people, in ASCII like all of fio's output.
func spell(d time.Duration) string { return strings.ReplaceAll(size.Duration(d), "µ", "u") }
