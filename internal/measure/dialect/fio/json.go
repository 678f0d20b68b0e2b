package fio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/hist"
)

// version is the version in the outputs: programs look for "fio-" and a number. The figures are Plimsoll's.
const version = "fio-3.33-plimsoll"

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	key   string
	value any
}

// float is a number with six decimals, as fio prints them. JSON has no infinities.
type float float64

// write prints v in fio's way: two spaces a level, blanks around colons.
func write(w *bytes.Buffer, v any, indent int) {
	pad := func(n int) {
		w.WriteByte('\n')
		for range n {
			w.WriteString("  ")
		}
	}
	switch v := v.(type) {
	case object:
		w.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				w.WriteByte(',')
			}
			pad(indent + 1)
			write(w, m.key, 0)
			w.WriteString(" : ")
			write(w, m.value, indent+1)
		}
		pad(indent)
		w.WriteByte('}')
	case []any:
		w.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				w.WriteByte(',')
			}
			pad(indent + 1)
			write(w, e, indent+1)
		}
		pad(indent)
		w.WriteByte(']')
	case string:
		writeString(w, v)
	case float:
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = 0
		}
		w.Write(strconv.AppendFloat(w.AvailableBuffer(), f, 'f', 6, 64))
	case uint64:
		w.Write(strconv.AppendUint(w.AvailableBuffer(), v, 10))
	default:
		fmt.Fprint(w, v)
	}
}

// writeString prints a JSON string and leaves > unescaped, since fio's keys contain it. Most strings are the tens of
// thousands of keys of json+, which need no escapes.
func writeString(w *bytes.Buffer, s string) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)         // A string can always be encoded.
		w.Truncate(w.Len() - 1) // Encode appends a newline.
		return
	}
	w.WriteByte('"')
	w.WriteString(s)
	w.WriteByte('"')
}

// json is the output in fio's json format; plus adds all histogram buckets (json+).
func (r *report) json(plus bool) []byte {
	root := object{
		{"fio version", version}, {"timestamp", r.now.Unix()}, {"timestamp_ms", r.now.UnixMilli()},
		{"time", r.now.Format(time.ANSIC)},
	}
	if len(r.globals) > 0 {
		root = append(root, member{"global options", options(r.globals)})
	}
	jobs := []any{}
	for _, j := range r.jobs {
		jobs = append(jobs, j.json(r, plus))
	}
	root = append(root, member{"jobs", jobs})
	if len(r.disks) > 0 {
		root = append(root, member{"disk_util", r.diskUtil()})
	}
	if r.idle != nil {
		root = append(root, member{"cpu_idleness", r.idle.json()})
	}
	var w bytes.Buffer
	write(&w, root, 0)
	w.WriteByte('\n')
	return w.Bytes()
}

// options shows each option once, with its last value.
func options(all []keyValue) object {
	o := object{}
	at := map[string]int{}
	for _, kv := range all {
		if i, ok := at[kv.Key]; ok {
			o[i].value = kv.Value
			continue
		}
		at[kv.Key] = len(o)
		o = append(o, member{kv.Key, kv.Value})
	}
	return o
}

func (j *jobReport) json(r *report, plus bool) object {
	o := object{
		{"jobname", j.job.name}, {"groupid", j.group}, {"error", j.firstError}, {"eta", math.MaxInt32},
		{"elapsed", r.elapsedSeconds()}, {"job options", options(j.own)},
	}
	if j.job.unified != mixedOnly {
		for d, name := range className {
			o = append(o, member{name, append(j.dirs[d].json(j, plus), j.dirJSON(d, plus)...)})
		}
		o = append(o, member{"sync", object{{"total_ios", j.syncs}, {"lat_ns", j.latency(&j.sync, true, plus)}}})
	}
	if j.mixed != nil {
		o = append(o, member{"mixed", append(j.mixed.json(j, plus), j.mixedJSON(plus)...)})
	}
	ns, us, ms := j.distribution()
	o = append(o,
		member{"job_runtime", j.runtime}, member{"usr_cpu", float(j.cpuShare(j.cpu.User))}, member{"sys_cpu", float(j.cpuShare(j.cpu.System))},
		member{"ctx", j.cpu.Switches}, member{"majf", j.cpu.MajorFaults}, member{"minf", j.cpu.MinorFaults},
		member{"iodepth_level", shares(levelNames, j.levels[:])},
		member{"iodepth_submit", shares(batchNames, j.batches())},
		member{"iodepth_complete", shares(batchNames, j.batches())},
		member{"latency_ns", shares(subNames, ns[:])},
		member{"latency_us", shares(subNames, us[:])},
		member{"latency_ms", shares(msNames, ms[:])},
	)
	if j.job.countsErrors() {
		o = append(o, member{"total_err", j.failed}, member{"first_error", j.firstError})
	}
	if j.began {
		o = append(o, member{"latency_depth", j.depth()}, member{"latency_target", j.job.target.Latency.Nanoseconds()},
			member{"latency_percentile", float(j.job.target.Percent)}, member{"latency_window", j.job.target.Window.Microseconds()})
	}
	if j.open != nil {
		o = append(o, member{"open_loop", j.open.json()})
	}
	if j.job.description != "" {
		o = append(o, member{"desc", j.job.description})
	}
	if j.steady != nil {
		o = append(o, member{"steadystate", j.steadyJSON()})
	}
	return o
}

var (
	levelNames = []string{"1", "2", "4", "8", "16", "32", ">=64"}
	batchNames = []string{"0", "4", "8", "16", "32", "64", ">=64"}
	subNames   = []string{"2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"}
	msNames    = []string{"2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"}
)

func shares(names []string, xs []float64) object {
	var o object
	for i, n := range names {
		o = append(o, member{n, float(xs[i])})
	}
	return o
}

// batches is the distribution of how many I/Os are submitted and completed at once: always one with psync, and not
// counted with other engines.
func (j *jobReport) batches() []float64 {
	b := make([]float64, len(batchNames))
	if j.submits > 0 {
		b[1] = 100
	}
	return b
}

func (j *jobReport) cpuShare(d time.Duration) float64 {
	if j.runtime == 0 {
		return 0
	}
	return 100 * float64(d) / float64(time.Millisecond) / float64(j.runtime)
}

// elapsedSeconds counts from 1, as fio does.
func (r *report) elapsedSeconds() int64 { return int64(r.elapsed/time.Second) + 1 }

func (d *dirReport) json(j *jobReport, plus bool) object {
	iops := 0.0
	if d.runtime > 0 {
		iops = float64(d.ops) * 1000 / float64(d.runtime)
	}
	bw := perSecond(d.bytes, d.runtime)
	empty := &hist.Histogram{}
	o := object{
		{"io_bytes", d.bytes}, {"io_kbytes", d.bytes >> 10}, {"bw_bytes", bw}, {"bw", bw >> 10}, {"iops", float(iops)},
		{"runtime", d.runtime}, {"total_ios", d.ops}, {"short_ios", 0}, {"drop_ios", 0},
		{"slat_ns", j.latency(empty, false, false)},
		{"clat_ns", j.latency(&d.lat, j.clatPct, plus)},
		{"lat_ns", j.latency(&d.lat, j.latPct, plus)},
	}
	return append(append(o, d.prioritiesJSON(j, plus)...), object{
		{"bw_min", int64(d.bw.min)}, {"bw_max", int64(d.bw.max)}, {"bw_agg", float(d.share)}, {"bw_mean", float(d.bw.mean)},
		{"bw_dev", float(d.bw.stddev())}, {"bw_samples", d.bw.n},
		{"iops_min", int64(d.iops.min)}, {"iops_max", int64(d.iops.max)}, {"iops_mean", float(d.iops.mean)},
		{"iops_stddev", float(d.iops.stddev())}, {"iops_samples", d.iops.n},
	}...)
}

// latency is a histogram as fio shows it.
func (j *jobReport) latency(h *hist.Histogram, percentiles, plus bool) object {
	o := object{{"min", h.Min()}, {"max", h.Max()}, {"mean", float(h.Mean())}, {"stddev", float(h.StdDev())}, {"N", h.Count()}}
	if !percentiles || h.Count() == 0 {
		return o
	}
	var p object
	for _, x := range j.percentiles {
		p = append(p, member{strconv.FormatFloat(x, 'f', 6, 64), percentile(h, x)})
	}
	o = append(o, member{"percentile", p})
	if plus {
		var bins object
		for i, n := range h.All() {
			bins = append(bins, member{strconv.FormatUint(hist.Value(i), 10), n})
		}
		o = append(o, member{"bins", bins})
	}
	return o
}

// percentile is fio's: the middle of the bucket, even where that is over the maximum.
func percentile(h *hist.Histogram, p float64) uint64 {
	return hist.Value(hist.Index(uint64(h.Percentile(p))))
}

func (r *report) diskUtil() []any {
	var out []any
	for _, d := range r.disks {
		out = append(out, object{
			{"name", d.Name}, {"read_ios", d.Reads}, {"write_ios", d.Writes},
			{"read_merges", d.ReadMerges}, {"write_merges", d.WriteMerges},
			{"read_ticks", d.ReadTime.Milliseconds()}, {"write_ticks", d.WriteTime.Milliseconds()},
			{"in_queue", (d.ReadTime + d.WriteTime).Milliseconds()}, {"util", float(r.util(d.Busy))},
		})
	}
	return out
}

// util is the share of time in which the disk was busy, in percent.
func (r *report) util(busy time.Duration) float64 {
	if r.ran <= 0 {
		return 0
	}
	return min(100*float64(busy)/float64(r.ran), 100)
}

// steadyName is the criterion's name without its limit.
func (j *jobReport) steadyName() string {
	if j.job.steady.Slope {
		return j.job.steady.Metric + "_slope"
	}
	return j.job.steady.Metric
}

func (j *jobReport) steadyJSON() object {
	c, s := j.job.steady, j.steady
	pct := ""
	if c.Percent {
		pct = "%"
	}
	attained, deviation, slope := 0, 0.0, 0.0
	if s.Attained {
		attained = 1
	}
	series := map[string][]float64{"iops": s.IOPS, "bw": s.BW, "lat": s.Lat}
	plain := c
	plain.Percent = false
	if f, _ := plain.Judge(series[c.Metric]); c.Slope {
		slope = f
	} else {
		deviation = f
	}
	data := object{{"bw_mean", mean(s.BW)}, {"iops_mean", mean(s.IOPS)}}
	lists := []member{{"iops", whole(s.IOPS)}, {"bw", whole(s.BW)}}
	if c.Metric == "lat" {
		data = append(data, member{"lat_mean", mean(s.Lat)})
		lists = append(lists, member{"lat_ns", whole(s.Lat)})
	}
	return object{
		{"ss", fmt.Sprintf("%s:%f%s", j.steadyName(), c.Limit, pct)}, {"duration", int64(j.job.ssDur / time.Second)},
		{"attained", attained}, {"criterion", fmt.Sprintf("%f%s", s.Figure, pct)},
		{"max_deviation", float(deviation)}, {"slope", float(slope)}, {"data", append(data, lists...)},
	}
}

func mean(xs []float64) int64 {
	if len(xs) == 0 {
		return 0
	}
	t := 0.0
	for _, x := range xs {
		t += x
	}
	return int64(t / float64(len(xs)))
}

func whole(xs []float64) []any {
	out := []any{}
	for _, x := range xs {
		out = append(out, int64(x))
	}
	return out
}
