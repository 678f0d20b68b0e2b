package watch

import (
	"cmp"
	"slices"

	"plimsoll/internal/device/cgroupio"
	"plimsoll/internal/limit"
)

// A Standing is where a rate is by its limit.
type Standing string

// Standings.
const (
	// Below: less than nine tenths of the limit were used.
	Below Standing = "below"
	// At: the limit is what holds it, or nearly.
	At Standing = "at the limit"
	// Above: more came through than the kernel lets through in slices of a tenth of a second.
	Above Standing = "ABOVE THE LIMIT"
	// Unknown: the kernel doesn't count there.
	Unknown Standing = "unknown"
)

// reached is the share of a limit from which on it counts as what holds the rate, as in limit verify.
const reached = 0.9

// slice is how long in seconds the kernel lets a limit's share of time through at once, and tolerance by how much a limit is missed
// apart from that.
const (
	slice     = 0.1
	tolerance = 0.05
)

// A Rate is a limit that a group is asked to stay under on a device, and what was seen of it.
type Rate struct {
	// Group is the group that has the limit: version 1 holds each by itself.
	Group  string    `json:"group"`
	Device string    `json:"device"`
	Number Number    `json:"number"`
	Key    limit.Key `json:"key"`
	// Asked and Seen are bytes or I/Os a second; Seen is nil where the kernel doesn't count.
	Asked    int64    `json:"asked"`
	Seen     *float64 `json:"seen"`
	Standing Standing `json:"standing"`
}

// judge says where the rate stands.
func (r *Rate) judge(seconds float64) {
	switch {
	case r.Seen == nil:
		r.Standing = Unknown
	case *r.Seen > float64(r.Asked)*(1+tolerance+slice/seconds):
		r.Standing = Above
	case *r.Seen >= float64(r.Asked)*reached:
		r.Standing = At
	default:
		r.Standing = Below
	}
}

// rates are the limits of a reading and what was seen of each, and its limits that are for no device.
func (p pair) rates(a *Reading, deltas map[string]map[Number]cgroupio.Counters, seconds float64) ([]Rate, *limit.Limits) {
	var out []Rate
	var others *limit.Limits
	for _, s := range a.Limits {
		if l := s.Limits; !l.IsZero() && others == nil {
			others = &l
		}
		for d, l := range s.Devices {
			n := number(d.Major, d.Minor)
			for _, k := range limit.Keys {
				if !k.Rate() || !l.Has(k) {
					continue
				}
				r := Rate{Group: s.Group, Device: p.name(n), Number: n, Key: k}
				c, counted := deltas[s.Group][n]
				var seen float64
				r.Asked, seen = ofKey(k, l, c)
				if counted || p.counts(n) {
					seen /= seconds
					r.Seen = &seen
				}
				r.judge(seconds)
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b Rate) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Device, b.Device), cmp.Compare(slices.Index(limit.Keys, a.Key), slices.Index(limit.Keys, b.Key)))
	})
	return out, others
}

// ofKey is a limit, and what was counted of what it limits.
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
