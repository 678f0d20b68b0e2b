package row

import "plimsoll/internal/limit/judge"

// judgeMember judges one of several devices over which a file system spreads its data, each under the limit, by what
// reached that device. The application saw the total. With stripes that may be as many times the limit as there are
// devices. If each device has a copy, a read goes to one of them; data that is on one device doesn't reach the others.
func (r *Row) judgeMember(m *measured) {
	whole := r.whole()
	app, dev := r.appCourse(m.result.Samples), r.course(m.samples, r.until(), byDevice)
	group, all := r.course(m.samples, r.until(), byGroup), r.course(m.samples, r.until(), byGroupAndRoot)
	r.App, r.Device = app.rate(r.Elapsed, whole), dev.of(r.Elapsed, whole)
	judged := dev
	if group != nil && dev.total() > r.withMetadata(all.total()) {
		judged = all // Other groups use it too.
	}
	most := judged.of(r.Elapsed, whole)
	least := most
	switch {
	case (judge.Evidence{Asked: r.Asked * float64(r.Members), Tolerance: m.tolerance}).Above(r.App):
		// This is more than all of them together may let through, so it is the application's.
	case group != nil && judged.total() > r.withMetadata(group.total()):
		// A thread of the kernel did it, possibly for others.
		least = group.of(r.Elapsed, whole)
	case group == nil && dev.total() > r.withMetadata(app.total()):
		least = 0
	}
	if r.Others = 0; group != nil {
		r.others(least)
	} else if least < most {
		r.Others = -1
	}
	if whole {
		r.decide(m, judge.Evidence{Least: least, Most: r.withoutFilling(m, most, app, judged)})
		return
	}
	r.beginning(judged)
	r.decide(m, r.slope(m, judged, least, most))
}
