package limit

import (
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/text/size"
)

// Where a limit was set: Applied.By.
const (
	// ByGroup: the control group of the container.
	ByGroup = "group"
	// ByDevice: the root group of version 1, for all users of the device.
	ByDevice = "device"
	// ByEngine: the engine's daemon or runtime, when the container was made.
	ByEngine = "engine"
)

// An Applied is a limit that was in force: the kernel's value when it was read.
type Applied struct {
	Key Key `json:"key"`
	// Value is a rate per second, a weight, nanoseconds, bytes or CPUs, depending on the key.
	Value float64 `json:"value"`
	// Device is the block device that it applies to, and Number the device's number; both are empty for keys without a device.
	Device string        `json:"device,omitempty"`
	Number device.Number `json:"number,omitzero"`
	// By is one of the constants above, and Group the control group that has it. File is the group's file if the limit was found, not set.
	By    string `json:"by"`
	Group string `json:"group,omitempty"`
	File  string `json:"file,omitempty"`
}

// Same reports whether a and b are one limit: the same key, device and group, from whatever source. The root group
// has a different name in each view of it.
func (a Applied) Same(b Applied) bool {
	group := a.Group == b.Group || a.By == ByDevice && b.By == ByDevice
	return a.Key == b.Key && a.Number == b.Number && group && a.Value == b.Value
}

// String is "write_bps=10MiB on loop0 (7:0) in /plimsoll-1".
func (a Applied) String() string {
	s := string(a.Key) + "=" + a.Text()
	if a.Device != "" {
		s += fmt.Sprintf(" on %s (%s)", a.Device, a.Number)
	}
	if a.Group != "" {
		s += " in " + a.Group
	}
	return s
}

// Text is the value with its unit.
func (a Applied) Text() string {
	switch a.Key {
	case ReadBPS, WriteBPS, Memory:
		return size.Format(int64(a.Value))
	case Latency:
		return size.FormatDuration(time.Duration(a.Value))
	}
	return strconv.FormatFloat(a.Value, 'f', -1, 64)
}

// An Escape is a way to write that a limit in the container's group does not hold there, or not at once.
type Escape struct {
	// Mode is "direct", "dsync", "buffered+fsync" or "buffered"; "read" for reads.
	Mode string `json:"mode"`
	// Holds is how far the limit holds these writes: "late", "partly" or "leaks".
	Holds string `json:"holds"`
	// Closed is whether a limit at the device holds these writes.
	Closed bool `json:"closed,omitempty"`
	// Why is the reason.
	Why string `json:"why,omitempty"`
}

// A Held is the outcome of setting the limits of one container.
type Held struct {
	Applied []Applied `json:"applied,omitempty"`
	Escapes []Escape  `json:"escapes,omitempty"`
}

// Of returns the value of a key in the container's own group, on the first device that has it; 0 for none.
func (h *Held) Of(k Key) float64 {
	if h == nil {
		return 0
	}
	for _, a := range h.Applied {
		if a.Key == k && a.By != ByDevice {
			return a.Value
		}
	}
	return 0
}

// Escape returns the escape in a mode of writing, or nil if the limit holds that mode.
func (h *Held) Escape(mode string) *Escape {
	if h == nil {
		return nil
	}
	for i := range h.Escapes {
		if h.Escapes[i].Mode == mode {
			return &h.Escapes[i]
		}
	}
	return nil
}

// Number is the value of k for comparing: a rate, a weight, bytes, CPUs, or nanoseconds; 0 for none.
func (l Limits) Number(k Key) float64 { return l.number(k) }

// OnIO is the part of l that the block layer holds.
func (l Limits) OnIO() Limits {
	for _, k := range Keys {
		if !k.IO() {
			l = l.Without(k)
		}
	}
	return l
}
