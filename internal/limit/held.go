package limit

import (
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/text/size"
)

// Who was told of a limit: Applied.By.
const (
	// ByGroup: the control group of the container.
	ByGroup = "group"
	// ByDevice: the root group of version 1, for all who use the device.
	ByDevice = "device"
	// ByEngine: the engine's daemon or runtime, when the container was made.
	ByEngine = "engine"
)

// An Applied is a limit that was in force: what the kernel had when it was asked.
type Applied struct {
	Key Key `json:"key"`
	// Value is a rate per second, a weight, nanoseconds, bytes or CPUs, as the key says.
	Value float64 `json:"value"`
	// Device is the block device that it is for, and Number the device's number; empty for the keys that are for none.
	Device string        `json:"device,omitempty"`
	Number device.Number `json:"number,omitzero"`
	// By is one of the constants above, Group the control group that has it, and File which of its files, where it was found and not set.
	By    string `json:"by"`
	Group string `json:"group,omitempty"`
	File  string `json:"file,omitempty"`
}

// Same reports whether b is the same limit as a, wherever it is known from: of one key, for one device, in one group. The root group
// has as many names as there are views of it.
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
	// Holds is how much of it is held: "late", "partly" or "leaks".
	Holds string `json:"holds"`
	// Closed is set where a limit at the device was set that holds it.
	Closed bool `json:"closed,omitempty"`
	// Why says why.
	Why string `json:"why,omitempty"`
}

// A Held is what became of the limits of one container.
type Held struct {
	Applied []Applied `json:"applied,omitempty"`
	Escapes []Escape  `json:"escapes,omitempty"`
}

// Of returns the value of a key on one device in the container's own group, or the first where it is on several; 0 for none.
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

// Escape returns what is known of a mode that isn't held, nil if it is.
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
