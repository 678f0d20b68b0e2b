package fio

import "plimsoll/load"

// unified is the value of unified_rw_reporting, with fio's numbers.
type unified int

const (
	apartOnly unified = iota
	mixedOnly
	apartAndMixed
)

// mixedName begins a group's line of all directions.
const mixedName = "  MIXED"

// mix combines all directions: bandwidths and IOPS add up, as for several clones.
func (j *jobReport) mix() *dirReport {
	m := new(dirReport)
	for d := range j.dirs {
		o := &j.dirs[d]
		m.ops, m.bytes, m.runtime = m.ops+o.ops, m.bytes+o.bytes, max(m.runtime, o.runtime)
		m.lat.Merge(&o.lat)
		m.prios = load.MergePriorities(m.prios, o.prios)
		m.bw.add(o.bw)
		m.iops.add(o.iops)
	}
	return m
}

// shown are the directions as the outputs show them: mixed results take the place of reads.
func (j *jobReport) shown() [3]*dirReport {
	if j.job.unified == mixedOnly {
		return [3]*dirReport{j.mixed, {}, {}}
	}
	return [3]*dirReport{&j.dirs[0], &j.dirs[1], &j.dirs[2]}
}

// mixedJSON is dirJSON for all directions combined.
func (j *jobReport) mixedJSON(plus bool) object {
	if j.open == nil {
		return nil
	}
	var m openDir
	for d := range j.open.dirs {
		o := &j.open.dirs[d]
		m.iops, m.bytes = m.iops+o.iops, m.bytes+o.bytes
		m.response.Merge(&o.response)
	}
	return m.json(j, plus)
}

// mix combines a group's directions.
func (g *groupReport) mix() (m groupDir) {
	for _, d := range g.dirs {
		switch {
		case !d.any:
			continue
		case !m.any:
			m = d
			continue
		}
		m.bytes, m.bw = m.bytes+d.bytes, m.bw+d.bw
		m.min, m.max = min(m.min, d.min), max(m.max, d.max)
		m.minRun, m.maxRun = min(m.minRun, d.minRun), max(m.maxRun, d.maxRun)
	}
	return m
}
