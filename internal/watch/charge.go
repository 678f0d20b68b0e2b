package watch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
)

// A Charge is what the kernel charged to a subject on one device in an interval.
//
// In a stack of devices each one is charged: 100 MiB written to a loop device are 100 MiB there, and up to 100 MiB
// more on the disk that holds its file. A Charge shows both. Above names the subject's devices that stand on this
// one, and a Total counts the bytes that passed through several only once.
type Charge struct {
	// Name is the device's name, or its number if it no longer has a name.
	Name   string        `json:"name"`
	Number device.Number `json:"number"`
	// Places are the subject's data on it: "volume data". Empty: the device only lies beneath another one, or its
	// data isn't known.
	Places []string `json:"places"`
	Above  []string `json:"above"`
	// Read, Write and Discard are nil where the kernel doesn't count; Why is the reason.
	Read    *Flow  `json:"read"`
	Write   *Flow  `json:"write"`
	Discard *Flow  `json:"discard,omitempty"`
	Why     string `json:"why,omitempty"`
	// Buffered is how much of the writes through the page cache is included: "held" and "late" mean all, "partly"
	// some, "leaks" none.
	Buffered explain.Verdict `json:"buffered,omitempty"`
	// Service is the time that the device took for it, nil without I/O there or without counters.
	Service *Service `json:"service,omitempty"`
	// Waited is the number of seconds for which iocost held back the group's I/O here, nil where the kernel doesn't
	// show it.
	Waited *float64 `json:"waited_seconds,omitempty"`

	counters cgroupio.Counters
	above    []device.Number
}

// A Total is what a subject's devices did for it, with every byte of a stack counted once.
type Total struct {
	Flow
	// Most is above Bytes where the sum isn't certain: a device's charge may have come through a device that stands
	// on it, or from the subject's own data there. Bytes is the smallest possible sum, Most the largest.
	Most int64 `json:"bytes_most"`
	// Partial is set where one of the subject's devices has no counters.
	Partial bool `json:"partial"`
}

// begun is a counter at its start.
var begun cgroupio.Counters

// delta is the count between two readings. Counters that fell were reset in between, or belong to a new group of the
// same name.
func delta(now, before cgroupio.Counters) cgroupio.Counters {
	d := cgroupio.Counters{
		ReadBytes: now.ReadBytes - before.ReadBytes, WriteBytes: now.WriteBytes - before.WriteBytes, DiscardBytes: now.DiscardBytes - before.DiscardBytes,
		Reads: now.Reads - before.Reads, Writes: now.Writes - before.Writes, Discards: now.Discards - before.Discards,
		Waited: now.Waited - before.Waited, Delayed: now.Delayed - before.Delayed, Timed: now.Timed,
	}
	if min(d.ReadBytes, d.WriteBytes, d.DiscardBytes) < 0 || min(d.Reads, d.Writes, d.Discards) < 0 || min(d.Waited, d.Delayed) < 0 {
		return delta(now, begun)
	}
	return d
}

// add adds up two deltas.
func add(a, b cgroupio.Counters) cgroupio.Counters {
	return cgroupio.Counters{
		ReadBytes: a.ReadBytes + b.ReadBytes, WriteBytes: a.WriteBytes + b.WriteBytes, DiscardBytes: a.DiscardBytes + b.DiscardBytes,
		Reads: a.Reads + b.Reads, Writes: a.Writes + b.Writes, Discards: a.Discards + b.Discards,
		Waited: a.Waited + b.Waited, Delayed: a.Delayed + b.Delayed, Timed: a.Timed || b.Timed,
	}
}

// A pair is two samples of a machine.
type pair struct {
	before, after *Sample
	// names are the devices' names in both samples.
	names map[device.Number]string
	// beneath are the devices beneath one.
	beneath func(device.Number) []device.Number
	// paces are those of the devices where charged I/O may still wait.
	paces map[device.Number]pace
}

// counts reports whether the kernel counted on a device for the whole interval.
func (p pair) counts(n device.Number) bool {
	return p.after.CountsAll || slices.Contains(p.before.Counted, n) && slices.Contains(p.after.Counted, n)
}

// name is a device's name.
func (p pair) name(n device.Number) string {
	if s := p.names[n]; s != "" {
		return s
	}
	return n.String()
}

// deltas are the charges of a subject's groups, by group and device. A device where the kernel began to count in
// between is left out. b is nil for a subject that began after the first sample.
func (p pair) deltas(a, b *Reading) map[string]map[device.Number]cgroupio.Counters {
	if b == nil {
		return p.between(a.Groups, nil)
	}
	return p.between(a.Groups, b.Groups)
}

// between are the deltas of two readings.
func (p pair) between(a, b map[string]map[device.Number]cgroupio.Counters) map[string]map[device.Number]cgroupio.Counters {
	out := make(map[string]map[device.Number]cgroupio.Counters, len(a))
	for path, devices := range a {
		of := make(map[device.Number]cgroupio.Counters, len(devices))
		for n, now := range devices {
			before, was := b[path][n]
			if was || p.counts(n) {
				of[n] = delta(now, before)
			}
		}
		out[path] = of
	}
	return out
}

// charges are a subject's charges by device. Devices that stand on others come first.
func (p pair) charges(sub *Subject, deltas map[string]map[device.Number]cgroupio.Counters, seconds float64) []Charge {
	sums := map[device.Number]cgroupio.Counters{}
	for _, of := range deltas {
		for n, c := range of {
			sums[n] = add(sums[n], c)
		}
	}
	list := map[device.Number]bool{}
	for n, c := range sums {
		if idle := (cgroupio.Counters{Timed: c.Timed}); c != idle {
			list[n] = true
		}
	}
	for _, place := range sub.Places {
		for _, n := range place.Devices {
			list[n] = true
		}
	}
	var out []Charge
	for n := range list {
		c := Charge{Name: p.name(n), Number: n, Places: sub.on(n), Buffered: sub.buffered(n)}
		sum, counted := sums[n]
		switch {
		case counted, p.counts(n):
			c.set(sum, seconds)
		case slices.Contains(p.after.Counted, n):
			c.Why = "the kernel began to count there in this interval, with the first limit on the device"
		default:
			c.Why = "the kernel counts there only once any group has had a limit on the device (version 1, since Linux 6.10)"
		}
		out = append(out, c)
	}
	p.stack(out)
	slices.SortFunc(out, func(a, b Charge) int {
		switch {
		case slices.Contains(a.above, b.Number):
			return 1
		case slices.Contains(b.above, a.Number):
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out
}

// set fills in the counters.
func (c *Charge) set(d cgroupio.Counters, seconds float64) {
	c.counters = d
	read, write := flow(d.ReadBytes, d.Reads, seconds), flow(d.WriteBytes, d.Writes, seconds)
	c.Read, c.Write = &read, &write
	if d.DiscardBytes != 0 || d.Discards != 0 {
		discard := flow(d.DiscardBytes, d.Discards, seconds)
		c.Discard = &discard
	}
	if d.Timed {
		waited := (d.Waited + d.Delayed).Seconds()
		c.Waited = &waited
	}
}

// stack finds which devices of the list stand directly on which others.
func (p pair) stack(list []Charge) {
	if len(list) < 2 {
		return
	}
	on := map[device.Number][]device.Number{}
	for _, c := range list {
		on[c.Number] = p.beneath(c.Number)
	}
	for i := range list {
		n := list[i].Number
		for _, t := range list {
			if !slices.Contains(on[t.Number], n) {
				continue
			}
			// Only direct ones, not through another device of the list.
			if slices.ContainsFunc(list, func(u Charge) bool {
				return u.Number != n && u.Number != t.Number && slices.Contains(on[t.Number], u.Number) && slices.Contains(on[u.Number], n)
			}) {
				continue
			}
			list[i].above = append(list[i].above, t.Number)
			list[i].Above = append(list[i].Above, t.Name)
		}
		slices.Sort(list[i].Above)
	}
}

// total adds up one direction. of picks its bytes and I/Os.
func total(sub *Subject, list []Charge, seconds float64, of func(cgroupio.Counters) (bytes, ios int64)) *Total {
	by := map[device.Number]cgroupio.Counters{}
	counted := 0
	t := &Total{}
	for _, c := range list {
		by[c.Number] = c.counters
		switch {
		case c.Read != nil:
			counted++
		case len(c.Places) > 0:
			t.Partial = true
		}
	}
	if counted == 0 {
		return nil
	}
	for _, c := range list {
		bytes, ios := of(c.counters)
		if c.Read == nil {
			continue
		}
		// The subject has no data on this device, and a device that stands on it is counted: all I/O here was that one's, too.
		if len(c.above) > 0 && len(c.Places) == 0 && len(sub.Places) > 0 {
			continue
		}
		t.Most += bytes
		for _, n := range c.above {
			b, i := of(by[n])
			bytes, ios = bytes-b, ios-i
		}
		t.Bytes, t.IOs = t.Bytes+max(0, bytes), t.IOs+max(0, ios)
	}
	t.Flow = flow(t.Bytes, t.IOs, seconds)
	return t
}

func reads(c cgroupio.Counters) (bytes, ios int64)  { return c.ReadBytes, c.Reads }
func writes(c cgroupio.Counters) (bytes, ios int64) { return c.WriteBytes, c.Writes }

// A CPU is how long the CPU controller stopped a group in an interval.
type CPU struct {
	// Periods is the number of quota periods in which it was stopped, Seconds the time in all.
	Periods int64   `json:"throttled_periods"`
	Seconds float64 `json:"throttled_seconds"`
}

// throttled is the difference of two readings, nil without counters.
func throttled(a, b *Reading) *CPU {
	if a.CPU == nil {
		return nil
	}
	before := cgroupio.Throttled{}
	if b != nil {
		if b.CPU == nil {
			return nil
		}
		before = *b.CPU
	}
	if before.Time > a.CPU.Time || before.Periods > a.CPU.Periods {
		before = cgroupio.Throttled{}
	}
	return &CPU{a.CPU.Periods - before.Periods, (a.CPU.Time - before.Time).Seconds()}
}

// Waits are the seconds of an interval in which some, and all, of a group's runnable processes waited for I/O: for
// the device, or for a limit.
type Waits struct {
	Some float64 `json:"some_seconds"`
	Full float64 `json:"full_seconds"`
}

// waits is the difference of two readings, nil without counters.
func waits(a, b *Reading) *Waits {
	if a.Pressure == nil {
		return nil
	}
	before := Pressure{}
	if b != nil {
		if b.Pressure == nil {
			return nil
		}
		before = *b.Pressure
	}
	if before.Some > a.Pressure.Some || before.Full > a.Pressure.Full {
		before = Pressure{}
	}
	return &Waits{(a.Pressure.Some - before.Some).Seconds(), (a.Pressure.Full - before.Full).Seconds()}
}

// A WaitTime is the number of seconds of an interval in which at least one thread of a subject waited for I/O,
// because of the device or of a limit.
type WaitTime struct {
	Seconds float64 `json:"seconds"`
	// From is the source of the figure: "pressure", "asynchronous calls", "event loop" or "delay accounting".
	From string `json:"from"`
}

// unseenWait is the share of an interval below which the wait of a subject at its limit counts as unseen.
const unseenWait = 0.05

// waitTime is the longest known wait, nil if none is known. Its sources are the pressure, which leaves out
// asynchronous I/O; threads that slept in calls for asynchronous I/O, while the subject was at a limit or a device
// worked for it; threads that slept in an event loop, while it was at a limit; and delay accounting. A subject at a
// limit must wait, so a wait of next to nothing isn't believed.
func (u *Usage) waitTime(a, b *Reading) *WaitTime {
	var out *WaitTime
	take := func(seconds float64, from string) {
		if out == nil || seconds > out.Seconds {
			out = &WaitTime{min(seconds, u.seconds), from}
		}
	}
	if u.Waits != nil {
		take(u.Waits.Some, "pressure")
	}
	if b == nil {
		return out
	}
	if a.Delays != nil && b.Delays != nil {
		take(delayOf(b.Delays, a.Delays, u.seconds), "delay accounting")
	}
	limited := slices.ContainsFunc(u.Rates, func(r Rate) bool { return r.Standing == At || r.Standing == Above || r.Waiting > 0 })
	asleep := slept(b.Async, a.Async, false, u.seconds)
	if asleep >= leastWait*u.seconds {
		busy, counted := 0.0, true
		for _, c := range u.Devices {
			counted = counted && c.Read != nil
			if c.Service != nil {
				busy = max(busy, c.Service.Util/100*u.seconds)
			}
		}
		if limited {
			busy = u.seconds
		}
		if busy = min(busy, asleep); busy > 0 {
			take(busy, "asynchronous calls")
		} else if !counted && u.App != nil && u.App.StorageRead+u.App.StorageWritten > 0 {
			return nil // They may have slept waiting for I/O, or because they had none to do.
		}
	}
	if !limited {
		return out
	}
	if asleep = slept(b.Async, a.Async, true, u.seconds); asleep >= leastWait*u.seconds {
		take(asleep, "event loop")
	}
	if out == nil {
		u.Notes = append(u.Notes, "it is at a limit, and how long it waited isn't known: the kernel doesn't measure its group's waiting for I/O (no io.pressure); with sysctl kernel.task_delayacct=1 it measures it for threads that start afterwards")
		return nil
	}
	if out.Seconds < unseenWait*u.seconds {
		u.Notes = append(u.Notes, "it is at a limit, and none of its threads is seen to wait for I/O: it may poll for completions rather than sleep, or may not want more than the limit; how long it waited isn't known")
		return nil
	}
	return out
}

// sortedPaths are the paths of groups, topmost first.
func sortedPaths[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// secondsOf is the time between two readings or samples.
func secondsOf(a, b time.Time) (float64, error) {
	s := a.Sub(b).Seconds()
	if s <= 0 {
		return 0, fmt.Errorf("two readings are %g seconds apart, which gives no rate", s)
	}
	return s, nil
}
