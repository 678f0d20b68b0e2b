package row

import (
	"fmt"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/text/size"
)

// small reports whether the row is about the number of small writes through the page cache. They leave a gap of one
// block between them, so a file system that writes in place submits each by itself. A file system that chooses new
// places (a copy on write, or a journal of data) puts them side by side, and fewer and larger I/Os reach the device.
func (r *Row) small() bool { return r.Key.Writes() && r.Key.IOPS() && r.Mode.cached() }

// writes returns how many writes the application did, and the bounds of how many of them reached the device. With
// version 1, what was not charged to the row's group is in the root group's count. With version 2, a file system that
// doesn't record the writer may have them charged to others.
func (r *Row) writes(m *measured) (wrote, least, most float64) {
	most = r.course(m.samples, forever, byDevice).total()
	least = most
	if all := r.course(m.samples, forever, byGroupAndRoot); all != nil {
		least = min(most, all.total())
		if m.samples[0].charged.root != nil {
			most = least
		}
	}
	return r.appCourse(m.result.Samples).total(), least, most
}

// merged fills in the verdict if the application saw more than the limit, but its I/Os that reached the device may be
// within the limit. It returns the rate to report: that at the device, if it is lower.
func (r *Row) merged(m *measured, seen float64) (came float64, few bool) {
	wrote, least, most := r.writes(m)
	e := judge.Evidence{Asked: r.Asked, Window: r.Elapsed, Tolerance: m.tolerance}
	if !e.Above(seen) || least >= wrote || len(m.samples) < 2 {
		return seen, false
	}
	e.Least, e.Most = least/r.Elapsed.Seconds(), min(most, wrote)/r.Elapsed.Seconds()
	e.Reached = max(e.Least, 1)
	if e.Above(e.Least - e.Extra()) {
		return e.Least, false
	}
	r.decide(m, e)
	return e.Least, true
}

// blameMerging gives merging as the reason if a row is unproved because fewer writes reached the device than the
// application did.
func (r *Row) blameMerging(m *measured) {
	wrote, _, came := r.writes(m)
	if len(m.samples) < 2 || came == 0 || came >= wrote*reachedShare {
		return // Or they went elsewhere, which is reported already.
	}
	how := "the file system or the kernel has made larger ones of them"
	if r.Members > 1 {
		how += ", or has sent them to its other devices"
	}
	r.Why = fmt.Sprintf("the application made %s writes of %s, each with a gap to the next, but at most %s came to the device: %s, so this can't test a limit on their number", size.Count(wrote), size.Bytes(r.BS), size.Count(came), how)
}
