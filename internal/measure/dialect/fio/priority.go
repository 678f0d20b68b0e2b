package fio

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/load"
)

// setPrio sets the class or the level of the job's own priority; either turns it on.
func setPrio(f func(*job) *int, most int64) setter {
	return func(j *job, v string) error {
		err := intTo(f, 0, most)(j, v)
		j.hasPrio = j.hasPrio || err == nil
		return err
	}
}

// ioprio is a class and a level in the kernel's encoding. Class 0 means best effort, as in fio.
func ioprio(class, level int) load.Priority {
	if class == 0 {
		class = load.BestEffort
	}
	return load.NewPriority(class, level)
}

// priority is the job's own, 0 if it has none.
func (j *job) priority() load.Priority {
	if !j.hasPrio {
		return 0
	}
	return ioprio(j.prioClass, j.prioLevel)
}

// setPrioritySplit only checks cmdprio_bssplit; its meaning depends on kb_base and on other options.
func setPrioritySplit(j *job, v string) error {
	if strings.TrimSpace(v) == "" {
		return fmt.Errorf("no sizes; write it as 4k/20 or 4k/20/1/0:64k/50")
	}
	for _, part := range strings.Split(v, ",") {
		if _, err := parsePrioritySplit(part, j.kbBase, load.NewPriority(load.RealTime, 0)); err != nil {
			return err
		}
	}
	j.cmdSplit = v
	return nil
}

// parsePrioritySplit reads one direction of cmdprio_bssplit, which fio sorts by size. usual is the priority of
// entries without one.
func parsePrioritySplit(s string, kbBase int64, usual load.Priority) (all []load.PriorityShare, err error) {
	for _, e := range strings.Split(strings.TrimSpace(s), ":") {
		if e == "" {
			break // As in fio.
		}
		f := strings.Split(e, "/")
		size, err := parseSize(f[0], kbBase)
		if err != nil || size < 1 {
			return nil, fmt.Errorf("%q: no size before the first slash", e)
		}
		if len(f) == 3 || len(f) > 4 {
			return nil, fmt.Errorf("%q must be size/percent or size/percent/class/level", e)
		}
		var n [3]int
		for i, t := range f[1:] {
			if t == "" && len(f) == 2 {
				continue
			}
			if n[i], err = strconv.Atoi(t); err != nil || n[i] < 0 {
				return nil, fmt.Errorf("%q must be size/percent or size/percent/class/level, in whole numbers", e)
			}
		}
		share := load.PriorityShare{Size: size, Percent: min(n[0], 100), Priority: usual}
		if len(f) == 4 {
			share.Priority = ioprio(min(n[1], load.Idle), min(n[2], 7)) // As in fio.
		}
		if share.Percent > 0 {
			all = append(all, share)
		}
	}
	slices.SortStableFunc(all, func(a, b load.PriorityShare) int { return cmp.Compare(a.Size, b.Size) })
	return all, nil
}

// priorities sets the job's own priority, and the priorities of single I/Os.
func (j *job) priorities(l *load.Job) error {
	l.Priority = j.priority()
	percents := j.cmdPercent.read+j.cmdPercent.write > 0
	if !percents && j.cmdSplit == "" {
		return nil
	}
	if percents && j.cmdSplit != "" {
		return fmt.Errorf("cmdprio_percentage contradicts cmdprio_bssplit; use one of the two")
	}
	if j.ioengine != "libaio" && j.ioengine != "io_uring" {
		return fmt.Errorf("cmdprio_percentage and cmdprio_bssplit need ioengine=libaio or io_uring, as in fio; use prioclass and prio with %s", j.ioengine)
	}
	if j.pairs() {
		return fmt.Errorf("cmdprio_percentage and cmdprio_bssplit are not supported with rw=%s; use prioclass and prio", j.rw)
	}
	parts := strings.Split(j.cmdSplit, ",")
	if len(parts) == 1 {
		parts = append(parts, parts[0])
	}
	of := func(d int, percent, class, level int64) ([]load.PriorityShare, error) {
		usual := ioprio(int(cmp.Or(class, load.RealTime)), int(level))
		if percent > 0 {
			return []load.PriorityShare{{Percent: int(percent), Priority: usual}}, nil
		}
		return parsePrioritySplit(parts[d], j.kbBase, usual)
	}
	var err error
	if l.Reads() && !j.trims() {
		if l.ReadPriorities, err = of(0, j.cmdPercent.read, j.cmdClass.read, j.cmdLevel.read); err != nil {
			return err
		}
	}
	if l.Writes() && !j.trims() {
		l.WritePriorities, err = of(1, j.cmdPercent.write, j.cmdClass.write, j.cmdLevel.write)
	}
	return err
}

// addPriorities adds a class's latencies by priority. own is the priority of a job whose I/Os all have the same one.
func addPriorities(all []load.PriorityLat, c *load.Class, own load.Priority) []load.PriorityLat {
	of := c.Priorities
	if len(of) == 0 && c.Lat != nil {
		of = []load.PriorityLat{{Priority: own, Lat: c.Lat}}
	}
	return load.MergePriorities(all, of)
}

// priorities are the priorities that the direction's I/Os had. A single one is left out, as in fio.
func (d *dirReport) priorities() (all []load.PriorityLat) {
	for _, p := range d.prios {
		if p.Lat.Count() > 0 {
			all = append(all, p)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// latName is the latency that fio splits by priority: clat, or lat if lat has percentiles.
func (j *jobReport) latName() string {
	if j.latPct {
		return "lat"
	}
	return "clat"
}

// prioritiesJSON is fio's list of latencies by priority.
func (d *dirReport) prioritiesJSON(j *jobReport, plus bool) object {
	var list []any
	for _, p := range d.priorities() {
		list = append(list, object{
			{"prioclass", p.Priority.Class()}, {"prio", p.Priority.Level()}, {j.latName() + "_ns", j.latency(p.Lat, j.clatPct || j.latPct, plus)},
		})
	}
	if list == nil {
		return nil
	}
	return object{{"prios", list}}
}

// priorityLines are the moments by priority.
func (d *dirReport) priorityLines(w *bytes.Buffer, j *jobReport) {
	for _, p := range d.priorities() {
		latencyLine(w, fmt.Sprintf("  %s prio %d/%d", j.latName(), p.Priority.Class(), p.Priority.Level()), p.Lat)
	}
}

// priorityPercentiles are the tables of percentiles by priority.
func (d *dirReport) priorityPercentiles(w *bytes.Buffer, j *jobReport) {
	if !j.clatPct && !j.latPct {
		return
	}
	for _, p := range d.priorities() {
		share := 100 * float64(p.Lat.Count()) / float64(d.lat.Count())
		j.percentileText(w, fmt.Sprintf("%s prio %d/%d (%.2f%% of IOs)", j.latName(), p.Priority.Class(), p.Priority.Level(), share), p.Lat)
	}
}
