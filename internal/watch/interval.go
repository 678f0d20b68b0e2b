package watch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// An Interval is the I/O between two samples.
type Interval struct {
	// At is its end.
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	// Subjects are the watched subjects, the busiest first.
	Subjects []Usage     `json:"targets"`
	Volumes  []VolumeUse `json:"volumes"`
	// RootGroup is what was charged to version 1's root group: processes in no other group, and the buffered writes of
	// all.
	RootGroup *RootGroup `json:"root_group,omitempty"`
	// Devices are all whole block devices, the busiest first.
	Devices []DiskUse `json:"devices"`
	// Notes are sentences for the user.
	Notes []string `json:"notes"`
}

// A Usage is the I/O of one subject.
type Usage struct {
	Ref    string        `json:"ref"`
	Kind   target.Kind   `json:"kind"`
	Engine target.Engine `json:"engine,omitempty"`
	Name   string        `json:"name"`
	ID     string        `json:"id,omitempty"`
	Image  string        `json:"image,omitempty"`
	// Groups are the groups whose counters were added up.
	Groups []string `json:"groups"`
	// App is the I/O of its processes, nil where that can't be read: AppWhy is the reason.
	App    *App   `json:"app"`
	AppWhy string `json:"app_why,omitempty"`
	// Read and Write are the bytes that devices moved for it, nil where the kernel doesn't count.
	Read    *Total   `json:"read"`
	Write   *Total   `json:"write"`
	Devices []Charge `json:"devices"`
	// Uncharged is how many more bytes its processes wrote to storage than were charged to it, where the kernel
	// writes back buffered data in the root group; nil elsewhere, and where one of the two isn't known.
	Uncharged *int64 `json:"uncharged_bytes,omitempty"`
	// Rates are the limits on rates, each with the rate seen.
	Rates []Rate `json:"rates"`
	// Limits are the limits that are not per device: weight, CPUs, CPU shares, memory.
	Limits *limit.Limits `json:"limits,omitempty"`
	CPU    *CPU          `json:"cpu,omitempty"`
	// Waits are the pressure of I/O.
	Waits *Waits `json:"pressure,omitempty"`
	// WaitTime is how long it waited for I/O, including asynchronous I/O; nil where that isn't known.
	WaitTime *WaitTime `json:"waits,omitempty"`
	// Ended is set if it ended in the interval: nothing else is known then.
	Ended bool     `json:"ended"`
	Why   string   `json:"why,omitempty"`
	Notes []string `json:"notes"`

	subject *Subject
	// seconds is the time for which it was watched.
	seconds float64
}

// RootGroup is the I/O of version 1's root group.
type RootGroup struct {
	Devices []Charge `json:"devices"`
	// Rates are the limits in the root group, which apply to whole devices (limit set --device-wide).
	Rates []Rate `json:"rates"`
}

// A VolumeUse is the I/O of a volume's device.
type VolumeUse struct {
	Ref    string `json:"ref"`
	Engine string `json:"engine"`
	Name   string `json:"name"`
	Path   string `json:"path"`
	// Devices are the names of the volume's devices.
	Devices []string `json:"devices"`
	// Read and Write are the device's whole I/O; nil where the device is not the volume's own: Why says so.
	Read  *Flow    `json:"read"`
	Write *Flow    `json:"write"`
	Why   string   `json:"why,omitempty"`
	Users []string `json:"users"`
}

// Between returns the I/O between two samples of one Sampler. beneath returns the devices beneath one
// (Sampler.Beneath).
func Between(before, after *Sample, beneath func(device.Number) []device.Number) (*Interval, error) {
	seconds, err := secondsOf(after.At, before.At)
	if err != nil {
		return nil, err
	}
	p := pair{before: before, after: after, names: map[device.Number]string{}, beneath: beneath, paces: paces(before, after)}
	for _, s := range []*Sample{before, after} {
		for _, d := range s.Disks {
			p.names[d.Number] = d.Name
		}
	}
	out := &Interval{At: after.At, Seconds: seconds}
	p.disks(out)
	for ref, a := range after.Subjects {
		if u, ok := p.usage(a, before.Subjects[ref], out.Devices); ok {
			out.Subjects = append(out.Subjects, u)
		}
	}
	for ref, b := range before.Subjects {
		if after.Subjects[ref] == nil {
			u := named(b.Subject)
			u.Ended = true
			out.Subjects = append(out.Subjects, u)
		}
	}
	slices.SortFunc(out.Subjects, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(b.busy(), a.busy()), cmp.Compare(b.waited(), a.waited()), cmp.Compare(a.Ref, b.Ref))
	})
	out.RootGroup = p.rootGroup(out.Devices)
	for _, v := range after.Volumes {
		out.Volumes = append(out.Volumes, p.volume(v, out.Devices, seconds))
	}
	return out, nil
}

// Busy reports whether the subject did any I/O, waited for it, or has anything to report.
func (u Usage) Busy() bool { return u.busy() > 0 || u.waited() > 0 || u.Ended || u.Why != "" }

// leastWait is the share of an interval from which its waiting counts: reading a single page waits for less.
const leastWait = 0.01

// waited ranks subjects by how much they waited for I/O: in seconds, or in bytes that a limit holds back.
func (u Usage) waited() float64 {
	w := 0.0
	if u.WaitTime != nil && u.WaitTime.Seconds >= leastWait*u.seconds {
		w = u.WaitTime.Seconds
	}
	for _, r := range u.Rates {
		if r.Waiting > 0 || r.Seen != nil && *r.Seen > 0 {
			w = max(w, u.seconds)
		}
	}
	return w
}

// busy ranks subjects by the bytes that they moved.
func (u Usage) busy() int64 {
	var n int64
	for _, t := range []*Total{u.Read, u.Write} {
		if t != nil {
			n += t.Most
		}
	}
	if u.App != nil {
		n = max(n, u.App.StorageRead+u.App.StorageWritten, u.App.ReadCalls.Bytes+u.App.WriteCalls.Bytes)
	}
	return n
}

// disks fills in the devices, and reports which came and went.
func (p pair) disks(out *Interval) {
	before := map[device.Number]Disk{}
	for _, d := range p.before.Disks {
		before[d.Number] = d
	}
	for _, d := range p.after.Disks {
		b, was := before[d.Number]
		delete(before, d.Number)
		if was && b.Name != d.Name {
			b = Disk{} // Another device has the number.
		}
		u := d.since(b, out.Seconds)
		if u.Active {
			for _, n := range p.beneath(d.Number) {
				u.Beneath = append(u.Beneath, p.name(n))
			}
		}
		out.Devices = append(out.Devices, u)
	}
	slices.SortFunc(out.Devices, func(a, b DiskUse) int {
		return cmp.Or(cmp.Compare(b.Util, a.Util), cmp.Compare(b.ReadKBS+b.WriteKBS, a.ReadKBS+a.WriteKBS), cmp.Compare(a.Name, b.Name))
	})
	var gone []string
	for _, d := range before {
		gone = append(gone, d.Name)
	}
	if slices.Sort(gone); len(gone) > 0 {
		out.Notes = append(out.Notes, list(gone)+" went away in this interval; its I/O isn't known")
	}
}

// named is a Usage with only its subject.
func named(s *Subject) Usage {
	t := s.Target
	return Usage{Ref: s.Ref, Kind: t.Kind, Engine: t.Engine, Name: t.Name, ID: t.ID, Image: t.Image, Notes: slices.Clone(s.Notes), subject: s}
}

// usage is a subject's usage. ok is false for a subject that was first seen in this interval but is older: its next
// interval counts.
func (p pair) usage(a, b *Reading, devices []DiskUse) (_ Usage, ok bool) {
	u := named(a.Subject)
	if b != nil && b.Subject.Target.Process() != a.Subject.Target.Process() {
		b = nil // It was restarted.
	}
	if b == nil && (a.Subject.Target.StartTime == 0 || a.Subject.Target.StartTime < p.before.Ticks) && a.Err == nil {
		return u, false
	}
	if errors.Is(a.Err, cgroup.ErrGone) {
		u.Ended = true
		return u, true
	}
	from := p.before.At
	if b != nil {
		if b.Err != nil && a.Err == nil {
			return u, false
		}
		if !b.At.IsZero() {
			from = b.At
		}
	}
	to := a.At
	if to.IsZero() {
		to = p.after.At
	}
	seconds, err := secondsOf(to, from)
	if err != nil {
		return u, false
	}
	u.seconds = seconds
	u.app(a, b, p.before.Ticks, seconds)
	u.CPU, u.Waits = throttled(a, b), waits(a, b)
	if a.Err != nil {
		u.Why, u.WaitTime = a.Err.Error(), u.waitTime(a, b)
		return u, true
	}
	deltas := p.deltas(a, b)
	u.Groups = sortedPaths(a.Groups)
	u.Devices = p.charges(a.Subject, deltas, seconds)
	services(u.Devices, devices)
	u.Read, u.Write = total(a.Subject, u.Devices, seconds, reads), total(a.Subject, u.Devices, seconds, writes)
	u.Rates, u.Limits = p.rates(a, b, deltas, seconds)
	u.WaitTime = u.waitTime(a, b)
	u.submittedBefore()
	u.uncharged()
	return u, true
}

// submittedBefore adds a note on the devices where I/O may have been charged before the first sample: their figures
// only have I/O submitted since.
func (u *Usage) submittedBefore() {
	var names []string
	for _, r := range u.Rates {
		if r.hidden && !slices.Contains(names, r.Device) {
			names = append(names, r.Device)
		}
	}
	if len(names) > 0 {
		u.Notes = append(u.Notes, list(names)+": I/O submitted before the first table may still pass; it was charged then, and is not in these figures")
	}
}

// app fills in the I/O of the processes.
func (u *Usage) app(a, b *Reading, since uint64, seconds float64) {
	switch {
	case a.AppErr != nil:
		u.AppWhy = a.AppErr.Error()
	case b != nil && b.AppErr != nil:
		u.AppWhy = b.AppErr.Error()
	default:
		var before map[int]Process
		if b != nil {
			before = b.Processes
		}
		app := appUse(before, a.Processes, since, seconds)
		u.App = &app
	}
}

// uncharged computes how many bytes were written and charged to no group.
func (u *Usage) uncharged() {
	if !u.subject.leaks() || u.App == nil || u.Write == nil {
		return
	}
	n := max(0, u.App.Wrote()-u.Write.Bytes)
	u.Uncharged = &n
}

// rootGroup is the root group's I/O.
func (p pair) rootGroup(devices []DiskUse) *RootGroup {
	a, b := p.after.RootGroup, p.before.RootGroup
	if a == nil || b == nil || a.Err != nil || b.Err != nil {
		return nil
	}
	seconds, err := secondsOf(a.At, b.At)
	if err != nil {
		return nil
	}
	deltas := p.deltas(a, b)
	n := &RootGroup{Devices: p.charges(a.Subject, deltas, seconds)}
	services(n.Devices, devices)
	n.Rates, _ = p.rates(a, b, deltas, seconds)
	return n
}

// volume is a volume's I/O.
func (p pair) volume(v Volume, disks []DiskUse, seconds float64) VolumeUse {
	u := VolumeUse{Ref: v.Ref, Engine: v.Engine, Name: v.Name, Path: v.Path, Why: v.Why, Users: v.Users}
	var read, write Flow
	for _, n := range v.Devices {
		u.Devices = append(u.Devices, p.name(n))
		i := slices.IndexFunc(disks, func(d DiskUse) bool { return d.Number == n })
		if i < 0 {
			u.Why = fmt.Sprintf("its device %s is gone", p.name(n))
			continue
		}
		read = flow(read.Bytes+disks[i].Read.Bytes, read.IOs+disks[i].Read.IOs, seconds)
		write = flow(write.Bytes+disks[i].Write.Bytes, write.IOs+disks[i].Write.IOs, seconds)
	}
	if u.Why == "" && v.Own && len(v.Devices) > 0 {
		u.Read, u.Write = &read, &write
	}
	return u
}
