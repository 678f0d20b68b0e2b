// Package limit holds the values of limits: what a container or volume must stay
// under, how people write it, and what it means.
//
// There are nine keys that the kernel holds, and two of Windows alone. Four are rates on a block device, by direction and unit
// (bytes or I/Os a second); weight and latency divide a device that is too busy
// for all; cpus, cpu_shares and memory are not about storage but decide what reaches
// it. A Limits has a number for each; an Ask is what a user asked for, in
// which a rate may be a percentage of what was measured and a key may be removed; a
// Change is an Ask whose percentages have become numbers, and is what the writers
// (package cgroup) take.
//
// Easily got wrong: 0 is "no limit" to cgroup v1 and an error to v2, 1 is an error to
// v2 alone, and an IOPS limit alone is hardly a limit on bandwidth (see Implied). The
// bounds here are those that every kernel since 4.15 takes on both versions.
//
// The package knows nothing of benchmarks, engines or control groups.
package limit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/text/size"
)

// Limits are bounds on a container. A field that is 0 means no bound.
type Limits struct {
	// Name is the plan's name for this set.
	Name string `json:"name,omitempty"`
	// Bytes and I/Os per second, on the device under the place.
	ReadBPS   int64 `json:"read_bps,omitempty"`
	WriteBPS  int64 `json:"write_bps,omitempty"`
	ReadIOPS  int64 `json:"read_iops,omitempty"`
	WriteIOPS int64 `json:"write_iops,omitempty"`
	// Weight is the share of a busy device relative to the neighbours' shares, on the
	// scale of io.weight: 1 to 10000, 100 is normal.
	Weight int64 `json:"weight,omitempty"`
	// Latency is the completion time of an I/O, on average, above which neighbours
	// with a higher target are slowed down.
	Latency time.Duration `json:"latency,omitempty"`
	// Memory is in bytes, memory and swap together.
	Memory int64 `json:"memory,omitempty"`
	// Swap is the value of a group's swap file if it differs from what Memory implies: the bytes or "max" of memory.swap.max
	// (version 2) or memory.memsw.limit_in_bytes (version 1). It belongs to Memory and bounds nothing by itself. Users can't
	// set it: it is read so that the old value can be restored.
	Swap string `json:"swap,omitempty"`
	// CPUs is a number of CPUs, such as 1.5.
	CPUs float64 `json:"cpus,omitempty"`
	// CPUShares is the relative weight on busy CPUs (1024 is normal).
	CPUShares int64 `json:"cpu_shares,omitempty"`
	// SystemIOPS and SystemBPS hold the system drive of a Windows container, reads and writes together: I/Os and bytes a
	// second. Only a daemon of Windows containers has them (SystemKeys).
	SystemIOPS int64 `json:"io_maxiops,omitempty"`
	SystemBPS  int64 `json:"io_maxbandwidth,omitempty"`
	// DeviceWide asks for the rates to be held at the device as well, whichever group the kernel charges a write to:
	// version 1's root group, which writes buffered data back. It bounds nothing by itself.
	DeviceWide bool `json:"device_wide,omitempty"`
}

// String lists the bounds with their values, by the plan's keys; "" for none.
func (l Limits) String() string {
	var parts []string
	for _, k := range slices.Concat(Keys, SystemKeys) {
		if l.Has(k) {
			parts = append(parts, string(k)+"="+l.Text(k))
		}
	}
	if l.DeviceWide {
		parts = append(parts, "device_wide")
	}
	return strings.Join(parts, " ")
}

// IsZero reports whether l bounds nothing.
func (l Limits) IsZero() bool { l.Name, l.Swap, l.DeviceWide = "", "", false; return l == Limits{} }

// IO reports whether l has a bound that the block layer holds: a rate, a weight or a
// latency.
func (l Limits) IO() bool {
	for _, k := range Keys {
		if k.IO() && l.Has(k) {
			return true
		}
	}
	return false
}

// Keys lists the keys that l bounds, in the order of the variable Keys, and of these the ones that all of are report true for:
// l.Keys(Key.Rate).
func (l Limits) Keys(are ...func(Key) bool) (keys []Key) {
	for _, k := range Keys {
		if l.Has(k) && !slices.ContainsFunc(are, func(is func(Key) bool) bool { return !is(k) }) {
			keys = append(keys, k)
		}
	}
	return keys
}

// Has reports whether l bounds k.
func (l Limits) Has(k Key) bool { return l.number(k) != 0 }

// Below reports whether l bounds k, and to less than m does.
func (l Limits) Below(k Key, m Limits) bool {
	return l.Has(k) && (!m.Has(k) || l.number(k) < m.number(k))
}

// Text is the value of k as Ask.Set reads it: "10MiB", "5ms", "1.5"; "none" where
// there is no bound.
func (l Limits) Text(k Key) string {
	p := l.Whole(k)
	switch {
	case !l.Has(k):
		return None
	case k.bytes():
		return size.Format(*p)
	case k == Latency:
		return size.FormatDuration(l.Latency)
	case k == CPUs:
		return strconv.FormatFloat(l.CPUs, 'f', -1, 64)
	}
	return strconv.FormatInt(*p, 10)
}

// number is the value of k for comparing with its bounds, all of which a float64 holds
// exactly.
func (l Limits) number(k Key) float64 {
	if p := l.Whole(k); p != nil {
		return float64(*p)
	}
	switch k {
	case Latency:
		return float64(l.Latency)
	case CPUs:
		return l.CPUs
	}
	return 0
}

// Whole is the field of a key whose values are whole numbers in the unit of the key: rates, weight, shares and memory.
// It is nil for other keys.
func (l *Limits) Whole(k Key) *int64 {
	switch k {
	case ReadBPS:
		return &l.ReadBPS
	case WriteBPS:
		return &l.WriteBPS
	case ReadIOPS:
		return &l.ReadIOPS
	case WriteIOPS:
		return &l.WriteIOPS
	case Weight:
		return &l.Weight
	case CPUShares:
		return &l.CPUShares
	case Memory:
		return &l.Memory
	case SystemIOPS:
		return &l.SystemIOPS
	case SystemBPS:
		return &l.SystemBPS
	}
	return nil
}

// Without is l with no bounds for the keys.
func (l Limits) Without(keys ...Key) Limits {
	for _, k := range keys {
		l = l.With(k, Limits{})
	}
	return l
}

// With is l with the value that from has for a key.
func (l Limits) With(k Key, from Limits) Limits {
	switch p := l.Whole(k); {
	case p != nil:
		*p = *from.Whole(k)
	case k == Latency:
		l.Latency = from.Latency
	case k == CPUs:
		l.CPUs = from.CPUs
	}
	if k == Memory {
		l.Swap = from.Swap
	}
	return l
}

// Check returns what is wrong with the numbers of l, which may come from a file or
// another program, or nil: every bound must be one that both versions of cgroups take.
func (l Limits) Check() error {
	for _, k := range everyKey {
		if err := l.check(k, bound.fix); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	if l.DeviceWide && l.ReadBPS == 0 && l.WriteBPS == 0 && l.ReadIOPS == 0 && l.WriteIOPS == 0 {
		return fmt.Errorf("device_wide holds rates at the device, and there is none: give read_bps, write_bps, read_iops or write_iops, or leave it out")
	}
	return nil
}

// check checks one key. fix ends the error; it is a function because a keeper checks thousands of limits at once, and
// nearly all are good.
func (l Limits) check(k Key, fix func(bound, Key) string) error {
	v := l.number(k)
	if v == 0 {
		return nil
	}
	b := bounds[k]
	switch {
	case math.IsNaN(v):
		return fmt.Errorf("%v is not a number: %s", v, fix(b, k))
	case v < 0:
		return fmt.Errorf("%s is negative: %s", l.Text(k), fix(b, k))
	case v < b.min:
		return fmt.Errorf("%s is too little: %s%s", l.Text(k), b.low, fix(b, k))
	case v > b.max:
		return fmt.Errorf("%s is too much: %s%s", l.Text(k), b.high, fix(b, k))
	case k == Latency && l.Latency%time.Microsecond != 0:
		return fmt.Errorf("%s is not a whole number of microseconds, the kernel's unit: write %s", l.Text(k), size.FormatDuration(l.Latency.Truncate(time.Microsecond)))
	}
	return nil
}
