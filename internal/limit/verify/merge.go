package verify

import (
	"fmt"

	"plimsoll/internal/size"
)

// small reports whether the row is of small writes through the page cache, on whose number the limit is. They leave a block out between
// them, so that a file system that writes in place hands each over by itself. One that chooses new places (a copy on write, or a journal
// of data) puts them beside each other, and what comes to the device is fewer and larger.
func (r *Row) small() bool { return r.Key.Writes() && r.Key.IOPS() && r.Mode.cached() }

// writes is how many the application did, and how many of them at most came to the device: nobody's are among them in version 1.
func (r *Row) writes(m *measured) (wrote, came float64) {
	came = r.deviceCourse(m.course, forever).total()
	if all := r.chargeCourse(m.course, forever, true); all != nil {
		came = min(came, all.total())
	}
	return r.appCourse(m.result.Samples).total(), came
}

// merged fills in the verdict where the application saw more than the limit, and what came to the device of it is no more
// than the limiter may let through. It sets what was seen to what came, where that is less.
func (r *Row) merged(m *measured, tolerance float64) bool {
	above := float64(r.Asked) * (1 + tolerance)
	wrote, came := r.writes(m)
	if r.lessCarried(r.Seen) <= above || came >= wrote || len(m.course) < 2 {
		return false
	}
	r.Seen = came / r.Elapsed.Seconds()
	if r.lessCarried(r.Seen) > above {
		return false
	}
	r.Off = r.Seen/float64(r.Asked) - 1
	r.Verdict = Unproved
	return true
}

// blameMerging says so where a row is unproved because fewer writes came to the device than the application did.
func (r *Row) blameMerging(m *measured) {
	wrote, came := r.writes(m)
	if len(m.course) < 2 || came >= wrote*reachedShare {
		return
	}
	how := "the file system or the kernel has made larger ones of them"
	if r.Members > 1 {
		how += ", or has sent them to its other devices"
	}
	r.Why = fmt.Sprintf("of the application's %s writes of %s, each with a gap to the next, no more than %s came to the device: %s, and a limit on their number can't be tried so", size.Count(wrote), size.Bytes(r.BS), size.Count(came), how)
}
