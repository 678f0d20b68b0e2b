package main

import (
	"fmt"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
)

// inAll says what the rates of a volume's containers let through in all; "" unless there are several with a rate. Each has its own:
// a device of the volume's own doesn't hold them together either, as version 1's root group only has what is written back, and
// version 2 has none.
func inAll(s *hold.Scope, each []limit.Limits) string {
	if s.Target.Kind != target.Volume || len(each) < 2 {
		return ""
	}
	var one, all limit.Limits
	same := true
	for _, k := range limit.Keys {
		if !k.Rate() || !k.IO() {
			continue
		}
		var sum int64
		for _, l := range each {
			n := l.Whole(k)
			if n == nil || *n == 0 {
				sum = 0
				break
			}
			sum += *n
			same = same && l.Text(k) == each[0].Text(k)
		}
		if sum > 0 {
			one = one.With(k, each[0])
			*all.Whole(k) = sum
		}
	}
	if all.IsZero() {
		return ""
	}
	if same {
		return fmt.Sprintf("%d containers, up to %s each: %s together", len(each), limitWords(one), limitWords(all))
	}
	return fmt.Sprintf("%d containers, each with a limit of its own: up to %s together", len(each), limitWords(all))
}

// togetherSet is inAll of a change that is made to all.
func togetherSet(s *hold.Scope, set limit.Limits) string {
	var each []limit.Limits
	for _, p := range s.Parts {
		if p.Target != nil && !p.DeviceWide {
			each = append(each, set)
		}
	}
	return inAll(s, each)
}

// togetherShown is inAll of what containers were found to have, on each device of the volume.
func togetherShown(s *hold.Scope, shown []limitShown) (notes []string) {
	if s == nil {
		return nil
	}
	for _, d := range s.Devices() {
		var each []limit.Limits
		for _, p := range shown {
			if p.Part.Target != nil && !p.Part.DeviceWide && len(p.Groups) > 0 {
				each = append(each, onDevice(p, d))
			}
		}
		if n := inAll(s, each); n != "" {
			notes = append(notes, "on "+d.Name+": "+n)
		}
	}
	return notes
}

// onDevice is what a part's own group has on a device.
func onDevice(p limitShown, d explain.Spot) limit.Limits {
	for n, l := range p.Groups[0].Devices {
		if n == d.Number() {
			return l
		}
	}
	return limit.Limits{}
}
