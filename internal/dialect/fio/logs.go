package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

func (t *Test) hasLogs() bool { return slices.ContainsFunc(t.jobs, (*job).hasDataLogs) }

// writeLogs makes the files of write_bw_log, write_iops_log and write_lat_log. A line is
// "time in ms, value, 0 for reads or 1 for writes, block size, offset", the last two 0 for averages, as
// fio 3.33 writes them. Bandwidths are KiB a second, latencies nanoseconds.
func (t *Test) writeLogs(all []measured, create func(string) (io.WriteCloser, error)) error {
	files := map[string]*bytes.Buffer{}
	var order []string
	for _, m := range all {
		for _, l := range m.clone.logs() {
			if files[l.name] == nil {
				files[l.name] = new(bytes.Buffer)
				order = append(order, l.name)
			}
			if l.value != nil {
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

// tryLogs sees whether the logs can be made, before minutes are spent on what they are to hold.
func (t *Test) tryLogs(create func(string) (io.WriteCloser, error)) error {
	for _, name := range t.logNames() {
		f, err := create(name)
		if err == nil {
			err = f.Close() // There may be more than a process can hold open.
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// logNames are the names of all logs, each once: jobs may share one.
func (t *Test) logNames() (all []string) {
	seen := map[string]bool{}
	for _, clones := range t.stages {
		for _, c := range clones {
			for _, l := range c.logs() {
				if !seen[l.name] {
					seen[l.name] = true
					all = append(all, l.name)
				}
			}
		}
	}
	return all
}

// A logFile is one of a clone's logs.
type logFile struct {
	name    string
	latency bool
	// value makes the figure of a sample; nil: the log stays empty.
	value func(ops, bytes, lat, ns float64) float64
}

// logs are the files that the clone's job asks for.
func (c *clone) logs() (all []logFile) {
	for _, l := range []struct {
		prefix *string
		kind   string
		value  func(ops, bytes, lat, ns float64) float64
	}{
		{c.job.bwLog, "bw", func(_, b, _, ns float64) float64 { return b / 1024 * 1e9 / ns }},
		{c.job.iopsLog, "iops", func(ops, _, _, ns float64) float64 { return ops * 1e9 / ns }},
		{c.job.latLog, "lat", meanLatency}, {c.job.latLog, "clat", meanLatency}, {c.job.latLog, "slat", nil},
	} {
		if l.prefix != nil {
			all = append(all, logFile{c.logName(*l.prefix, l.kind), l.kind == "clat" || l.kind == "lat", l.value})
		}
	}
	return all
}

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

// log writes a line for each sample and direction that had any I/O; without any there is no latency.
func (m measured) log(w *bytes.Buffer, latency bool, value func(ops, bytes, lat, ns float64) float64) {
	samples, lengths := m.sampled()
	epoch := int64(0)
	if m.clone.job.unixEpoch {
		epoch = m.result.Start.UnixMilli()
	}
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
			fmt.Fprintf(w, "%d, %.0f, %d, 0, 0\n", epoch+s.At.Milliseconds(), value(float64(ops), float64(b), float64(lat), float64(lengths[i])), d)
		}
	}
}
