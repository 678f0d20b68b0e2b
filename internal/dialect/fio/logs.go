package fio

import (
	"bytes"
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
		j := m.clone.job
		for _, l := range []struct {
			prefix *string
			kind   string
			value  func(ops, bytes, lat, ns float64) float64
		}{
			{j.bwLog, "bw", func(_, b, _, ns float64) float64 { return b / 1024 * 1e9 / ns }},
			{j.iopsLog, "iops", func(ops, _, _, ns float64) float64 { return ops * 1e9 / ns }},
			{j.latLog, "lat", meanLatency}, {j.latLog, "clat", meanLatency}, {j.latLog, "slat", nil},
		} {
			if l.prefix == nil {
				continue
			}
			name := m.logName(*l.prefix, l.kind)
			if files[name] == nil {
				files[name] = new(bytes.Buffer)
				order = append(order, name)
			}
			if l.value != nil {
				m.log(files[name], l.kind == "clat" || l.kind == "lat", l.value)
			}
		}
	}
	for _, name := range order {
		if err := writeFile(create, name, files[name].Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func meanLatency(ops, _, lat, _ float64) float64 { return lat / ops }

// logName is fio's name of a log.
func (m measured) logName(prefix, kind string) string {
	if prefix == "" || prefix == "1" {
		prefix = m.clone.job.name
	}
	if !m.clone.job.perJobLogs {
		return fmt.Sprintf("%s_%s.log", prefix, kind)
	}
	return fmt.Sprintf("%s_%s.%d.log", prefix, kind, m.clone.thread)
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
