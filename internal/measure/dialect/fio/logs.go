package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"plimsoll/load"
)

func (t *Test) hasLogs() bool {
	return slices.ContainsFunc(t.jobs, func(j *job) bool {
		return j.hasDataLogs() || j.histLog != nil || j.replay.record != ""
	})
}

// writeLogs writes the files of write_bw_log, write_iops_log and write_lat_log as fio 3.33 does. A line is "time in
// ms, value, 0 for reads, 1 for writes or 2 for trims, block size, priority"; in averages the last two are 0. The
// offset comes before the priority if the job asks for it. Bandwidths are KiB/s in averages and kB/s for a single
// I/O; latencies are nanoseconds.
func (t *Test) writeLogs(all []measured, create func(string) (io.WriteCloser, error)) error {
	files := map[string]*bytes.Buffer{}
	var order []string
	file := func(name string) *bytes.Buffer {
		if files[name] == nil {
			files[name] = new(bytes.Buffer)
			order = append(order, name)
		}
		return files[name]
	}
	for _, m := range all {
		if name := m.clone.job.replay.record; name != "" {
			file(name).Write(m.iolog())
		}
		for _, l := range m.clone.logs() {
			file(l.name)
			switch {
			case l.hists:
				m.logHists(files[l.name])
			case l.value == nil:
			case m.clone.job.tracesLogs():
				m.logEach(files[l.name], l.each)
			default:
				m.log(files[l.name], l.latency, l.value)
			}
		}
	}
	var errs []error
	for _, name := range order {
		errs = append(errs, writeFile(create, name, files[name].Bytes()))
	}
	return errors.Join(errs...)
}

// tryLogs checks that the logs can be created before the jobs run for minutes.
func (t *Test) tryLogs(create func(string) (io.WriteCloser, error)) error {
	for _, name := range t.logNames() {
		f, err := create(name)
		if err == nil {
			err = f.Close() // There may be more logs than a process can hold open.
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// logNames are the names of all logs without duplicates: jobs may share one.
func (t *Test) logNames() (all []string) {
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	for _, clones := range t.stages {
		for _, c := range clones {
			if c.job.replay.record != "" {
				add(c.job.replay.record)
			}
			for _, l := range c.logs() {
				add(l.name)
			}
		}
	}
	return all
}

// A logFile is one of a clone's logs.
type logFile struct {
	name    string
	latency bool
	// value computes a sample's figure; nil: the log stays empty. each computes the figure of a single I/O.
	value func(ops, bytes, lat, ns float64) float64
	each  func(load.TracedIO) int64
	// hists: the log holds histograms.
	hists bool
}

// logs are the clone's logs.
func (c *clone) logs() (all []logFile) {
	for _, l := range []struct {
		prefix *string
		kind   string
		value  func(ops, bytes, lat, ns float64) float64
		each   func(load.TracedIO) int64
	}{
		{c.job.bwLog, "bw", func(_, b, _, ns float64) float64 { return b / 1024 * 1e9 / ns }, bandwidth},
		{c.job.iopsLog, "iops", func(ops, _, _, ns float64) float64 { return ops * 1e9 / ns }, func(load.TracedIO) int64 { return 1 }},
		{c.job.latLog, "lat", meanLatency, latency}, {c.job.latLog, "clat", meanLatency, latency}, {c.job.latLog, "slat", nil, nil},
	} {
		if l.prefix != nil {
			all = append(all, logFile{name: c.logName(*l.prefix, l.kind), latency: l.kind == "clat" || l.kind == "lat", value: l.value, each: l.each})
		}
	}
	if c.job.histLog != nil {
		all = append(all, logFile{name: c.logName(*c.job.histLog, "clat_hist"), hists: true})
	}
	return all
}

func latency(o load.TracedIO) int64 { return int64(o.Lat) }

// bandwidth is an I/O's bandwidth in kB/s, as in fio.
func bandwidth(o load.TracedIO) int64 { return int64(float64(o.Size) * 1e6 / float64(max(o.Lat, 1))) }

func meanLatency(ops, _, lat, _ float64) float64 { return lat / ops }

// logName is fio's name of a log.
func (c *clone) logName(prefix, kind string) string {
	if prefix == "" || prefix == "1" {
		prefix = c.job.name
	}
	if !c.job.perJobLogs {
		return fmt.Sprintf("%s_%s.log", prefix, kind)
	}
	return fmt.Sprintf("%s_%s.%d.log", prefix, kind, c.thread)
}

// log writes a line for each sample and direction that did any I/O. Without I/O there is no latency.
func (m measured) log(w *bytes.Buffer, latency bool, value func(ops, bytes, lat, ns float64) float64) {
	samples, lengths := m.intervals()
	epoch := m.epoch()
	for i, s := range samples {
		for d, name := range className {
			if m.result.Class(name) == nil {
				continue
			}
			ops, b, lat := s.Ops-s.WriteOps, s.Bytes-s.WriteBytes, s.Lat-s.WriteLat
			if d == 1 {
				ops, b, lat = s.WriteOps, s.WriteBytes, s.WriteLat
			}
			if latency && ops == 0 {
				continue
			}
			fmt.Fprintf(w, "%d, %.0f, %d, 0%s\n", epoch+s.At.Milliseconds(), value(float64(ops), float64(b), float64(lat), float64(lengths[i])), d, m.clone.job.logEnd(0, 0))
		}
	}
}

// epoch is the start time of the logs, in ms.
func (m measured) epoch() int64 {
	if m.clone.job.unixEpoch {
		return m.result.Start.UnixMilli()
	}
	return 0
}

// logEnd is the end of a line after the block size: the offset, if the job asks for it, and the priority.
func (j *job) logEnd(offset int64, prio load.Priority) string {
	end := ", 0"
	switch {
	case j.logPrio:
		end = fmt.Sprintf(", 0x%04x", uint16(prio))
	case prio.Class() == load.RealTime:
		end = ", 1"
	}
	if j.logOffset {
		end = fmt.Sprintf(", %d%s", offset, end)
	}
	return end
}

// logEach writes a line for each I/O.
func (m measured) logEach(w *bytes.Buffer, value func(load.TracedIO) int64) {
	epoch := m.epoch()
	for _, o := range m.result.Trace {
		d := m.clone.job.direction(o.Write)
		fmt.Fprintf(w, "%d, %d, %d, %d%s\n", epoch+o.End.Milliseconds(), value(o), d, o.Size, m.clone.job.logEnd(o.Offset, o.Priority))
	}
}

// trace makes the clones of a stage keep the I/Os that their logs show: as many as fit in one message, shared among
// the clones.
func trace(stage []*clone) {
	n := 0
	for _, c := range stage {
		if c.job.traces() {
			n++
		}
	}
	for _, c := range stage {
		if c.job.traces() {
			c.spec.Job.Trace = load.MaxTrace / n
		}
	}
}

// cutLog reports that the logs miss I/Os of the clone, "" if they are complete.
func (m measured) cutLog() string {
	if n := m.result.Ops(); m.clone.job.tracesLogs() && n > int64(len(m.result.Trace)) {
		return fmt.Sprintf("%s: its logs have only the first %d of %d I/Os; use log_avg_msec to log averages of the whole run", m.clone.job.name, len(m.result.Trace), n)
	}
	return ""
}
