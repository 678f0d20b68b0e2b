package watch

import (
	"cmp"
	"slices"
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
)

// A Standing is where a rate is, compared with its limit.
type Standing string

// Standings.
const (
	// Below: less passed than the limit, by more than the tolerance.
	Below Standing = "below"
	// At: the limit is what holds the rate, or nearly.
	At Standing = "at the limit"
	// Above: more passed than the kernel allows in slices of a tenth of a second.
	Above Standing = "ABOVE THE LIMIT"
	// Changed: the limit was set or changed in the interval, and the rate seen would reach the new one. The next
	// interval is conclusive.
	Changed Standing = "the limit changed in this interval"
	// Unknown: the kernel doesn't count there, or the I/O may have been submitted before the first sample.
	Unknown Standing = "unknown"
)

// matters is the share of a limit from which unknown I/O hides the rate's standing.
const matters = 0.1

// A Rate is a group's limit on a device, and the rate that was seen.
type Rate struct {
	// Group is the group with the limit: version 1 applies only each group's own limit, version 2 also those of all
	// groups above. For a group above, the rate seen is that of the whole group.
	Group  string        `json:"group"`
	Device string        `json:"device"`
	Number device.Number `json:"number"`
	Key    limit.Key     `json:"key"`
	// Asked and Seen are bytes or I/Os a second; Seen is nil where the kernel doesn't count. In version 1, where
	// charged I/O may still wait, Seen is what passed by the device's own counters. It is also nil if that isn't
	// known: I/O submitted before the first sample was charged then.
	Asked    int64    `json:"asked"`
	Seen     *float64 `json:"seen"`
	Standing Standing `json:"standing"`
	// Waiting is the number of bytes, read or written, that were charged and have not passed by the end.
	Waiting int64 `json:"waiting_bytes,omitempty"`
	// hidden is set where I/O submitted before the first sample makes Seen unknown.
	hidden bool
}

// judge sets the standing. least is the certain part of the rate, in bytes or I/Os a second; was is the limit at the
// beginning of the interval, 0 without one.
func (r *Rate) judge(least, seconds float64, was int64) {
	if r.Seen == nil {
		r.Standing = Unknown
		return
	}
	s := judge.Evidence{Asked: float64(r.Asked), Least: least, Most: *r.Seen, Window: time.Duration(seconds * float64(time.Second))}
	switch v, _ := s.Verdict(); {
	case was != r.Asked && s.Reaches(*r.Seen):
		r.Standing = Changed
	case v == judge.NotHeld:
		r.Standing = Above
	case s.Reaches(*r.Seen):
		r.Standing = At
	default:
		r.Standing = Below
	}
}

// LimitsChanged records that a subject's limits changed within the interval: a rate above them now may have been
// below them then. The samples only show changes between their own times.
func (i *Interval) LimitsChanged(ref string) {
	for _, u := range i.Subjects {
		for n := range u.Rates {
			if r := &u.Rates[n]; u.Ref == ref && r.Standing == Above {
				r.Standing = Changed
			}
		}
	}
}

// rates are a reading's limits with the rates seen, including those of groups above, and its limits that are not per
// device. b is the reading before, nil without one.
func (p pair) rates(a, b *Reading, deltas map[string]map[device.Number]cgroupio.Counters, seconds float64) ([]Rate, *limit.Limits) {
	var out []Rate
	var others *limit.Limits
	idle := waitsForNothing(a, b, deltas, seconds)
	for _, s := range a.Limits {
		if l := s.Limits; !l.IsZero() && others == nil {
			others = &l
		}
	}
	deltas = p.withBeyond(a, b, deltas)
	for _, s := range slices.Concat(a.Limits, a.Above) {
		for n, l := range s.Devices {
			for _, k := range limit.Keys {
				if !k.Rate() || !l.Has(k) {
					continue
				}
				r := Rate{Group: s.Group, Device: p.name(n), Number: n, Key: k}
				c, counted := deltas[s.Group][n]
				came, sure := c, c
				if pace, ahead := p.paces[n]; ahead {
					var waited Pending
					if b != nil {
						waited = b.Waiting[s.Group][n]
					}
					came, _ = pace.through(waited.Counters, c)
					sure = pace.least(c)
				}
				var seen, least float64
				r.Asked, seen = ofKey(k, l, came)
				_, least = ofKey(k, l, sure)
				if _, known := deltas[s.Group]; known && (counted || p.counts(n)) {
					seen /= seconds
					r.Seen = &seen
				}
				if w := a.Waiting[s.Group][n]; k == limit.ReadBPS || k == limit.ReadIOPS {
					r.Waiting = w.ReadBytes
				} else {
					r.Waiting = w.WriteBytes
				}
				r.judge(min(least, seen*seconds)/seconds, seconds, b.limit(s.Group, n, k))
				if pace, ahead := p.paces[n]; ahead && r.Standing == Below && pace.hides(k, l, idle, seconds) {
					r.Seen, r.Standing, r.hidden = nil, Unknown, true
				}
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b Rate) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Device, b.Device), cmp.Compare(slices.Index(limit.Keys, a.Key), slices.Index(limit.Keys, b.Key)))
	})
	return out, others
}

// limit is a group's limit when it was read; 0: none.
func (r *Reading) limit(group string, d device.Number, k limit.Key) int64 {
	if r == nil {
		return 0
	}
	for _, s := range slices.Concat(r.Limits, r.Above) {
		if s.Group == group {
			asked, _ := ofKey(k, s.Devices[d], cgroupio.Counters{})
			return asked
		}
	}
	return 0
}

// mostlyWaits is the share of an interval from which a subject that waited for I/O, and was charged nothing, waits
// for I/O charged before.
const mostlyWaits = 0.5

// waitsForNothing reports whether a subject waited for I/O without a charge on any device: it waits for I/O submitted
// before.
func waitsForNothing(a, b *Reading, deltas map[string]map[device.Number]cgroupio.Counters, seconds float64) bool {
	w := waits(a, b)
	if b == nil || w == nil || w.Some < mostlyWaits*seconds {
		return false
	}
	for _, of := range deltas {
		for _, c := range of {
			if c.ReadBytes > 0 || c.WriteBytes > 0 {
				return false
			}
		}
	}
	return true
}

// hides reports whether a rate that seems to be below its limit may not be: the device did enough I/O submitted
// before the first sample to matter, or the subject waits for I/O that it isn't known to have submitted.
func (p pace) hides(k limit.Key, l limit.Limits, idle bool, seconds float64) bool {
	asked, more := ofKey(k, l, p.unclaimed())
	return more > float64(asked)*matters*seconds || idle && p.ahead == (cgroupio.Counters{})
}

// ofKey is a limit, and the counter that it limits.
func ofKey(k limit.Key, l limit.Limits, c cgroupio.Counters) (asked int64, counted float64) {
	switch k {
	case limit.ReadBPS:
		return l.ReadBPS, float64(c.ReadBytes)
	case limit.WriteBPS:
		return l.WriteBPS, float64(c.WriteBytes)
	case limit.ReadIOPS:
		return l.ReadIOPS, float64(c.Reads)
	}
	return l.WriteIOPS, float64(c.Writes)
}
