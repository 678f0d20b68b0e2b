// Package systemd gives limits to units of systemd through systemd itself.
//
// systemd writes a unit's control group from the unit's properties, and writes it again at every
// daemon-reload. Values that another program wrote there are lost then. The same holds for the
// scopes of containers whose engine lets systemd make their groups. A property survives. It is set with
// systemctl set-property, which checks all of them before it sets any
// (org.freedesktop.systemd1(5), SetUnitProperties).
//
// The properties are described in systemd.resource-control(5). Easily got wrong: a device's
// property given again with another device adds to the list, and an empty one empties it.
package systemd

import (
	"context"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// Properties are the limits of a unit as systemd has them, in its own units and on its own scales (systemd.resource-control(5)).
// A zero leaves what there is.
type Properties struct {
	Devices []Device
	// Weight is the share of all disks that have no other, from 1 to 10000.
	Weight uint64
	// CPUs is a number of processors.
	CPUs float64
	// CPUShares is the weight of version 1 of control groups, of which 1024 is the default. systemd is given the cpu.weight
	// that is written to a group of version 2 for it (limit.CPUWeight).
	CPUShares uint64
	// Memory is in bytes. NoSwap forbids swap. Swap is the limit of swap in bytes, 0 if there is none; it is read so that it
	// can be restored.
	Memory uint64
	NoSwap bool
	Swap   uint64
}

// A Device is a path and limits of the device under it: rates in bytes and operations per second. The
// path may be a device's node, or any file or folder on it.
type Device struct {
	Path                                   string
	ReadBPS, WriteBPS, ReadIOPS, WriteIOPS uint64
	// Weight is from 1 to 10000, Latency a target in whole microseconds.
	Weight  uint64
	Latency time.Duration
}

// Systemd sets properties of units.
type Systemd struct {
	// Systemctl runs systemctl.
	Systemctl target.Program
	// Device returns the number of the whole disk that systemd uses for a path, zero if it isn't known. If Device is nil,
	// paths are compared as they are.
	Device func(path string) device.Number
}

// setProperty sets all of the properties or none.
func (s Systemd) setProperty(ctx context.Context, unit string, properties []string) error {
	if len(properties) == 0 {
		return nil
	}
	// In /run: limits end with the boot, as groups do.
	argv := []string{"set-property", "--runtime", "--", unit}
	if _, err := s.Systemctl(ctx, append(argv, properties...)...); err != nil {
		return fmt.Errorf("unit %s: %w", unit, target.UnitError(err))
	}
	return nil
}

// Get returns the limits that a unit's properties have.
func (s Systemd) Get(ctx context.Context, unit string) (Properties, error) {
	names := []string{"IOWeight", "CPUQuotaPerSecUSec", "CPUWeight", "MemoryMax", "MemorySwapMax"}
	for _, x := range deviceProperties {
		names = append(names, x.shown)
	}
	out, err := s.Systemctl(ctx, "show", "--property="+strings.Join(names, ","), "--", unit)
	if err != nil {
		return Properties{}, fmt.Errorf("unit %s: %w", unit, target.UnitError(err))
	}
	l, err := parse(string(out))
	if err != nil {
		return Properties{}, fmt.Errorf("unit %s: %w", unit, err)
	}
	return l, nil
}

// Owns reports whether a group is the one that systemd made for a unit. Another systemd, that of a user, has
// units of the same names.
func (s Systemd) Owns(ctx context.Context, unit, group string) bool {
	out, err := s.Systemctl(ctx, "show", "--property=ControlGroup", "--value", "--", unit)
	return err == nil && strings.TrimSpace(string(out)) == group
}

// A deviceProperty is a property that is a list of devices.
type deviceProperty struct {
	key limit.Key
	// name is how it is set, shown how it is shown. none is the word for no limit.
	name, shown, none string
	// get writes a device's limit, empty for none.
	get func(Device) string
	set func(*Device, string) error
}

// deviceProperties are all of them. A weight has no word for none: 100 is the default.
var deviceProperties = []deviceProperty{
	{limit.ReadBPS, "IOReadBandwidthMax", "IOReadBandwidthMax", "infinity", func(d Device) string { return number(d.ReadBPS) }, func(d *Device, s string) error { return parseNumber(s, &d.ReadBPS) }},
	{limit.WriteBPS, "IOWriteBandwidthMax", "IOWriteBandwidthMax", "infinity", func(d Device) string { return number(d.WriteBPS) }, func(d *Device, s string) error { return parseNumber(s, &d.WriteBPS) }},
	{limit.ReadIOPS, "IOReadIOPSMax", "IOReadIOPSMax", "infinity", func(d Device) string { return number(d.ReadIOPS) }, func(d *Device, s string) error { return parseNumber(s, &d.ReadIOPS) }},
	{limit.WriteIOPS, "IOWriteIOPSMax", "IOWriteIOPSMax", "infinity", func(d Device) string { return number(d.WriteIOPS) }, func(d *Device, s string) error { return parseNumber(s, &d.WriteIOPS) }},
	{limit.Weight, "IODeviceWeight", "IODeviceWeight", "100", func(d Device) string { return number(d.Weight) }, func(d *Device, s string) error { return parseNumber(s, &d.Weight) }},
	{limit.Latency, "IODeviceLatencyTargetSec", "IODeviceLatencyTargetUSec", "infinity", latency, func(d *Device, s string) (err error) {
		if s != "infinity" {
			d.Latency, err = parseSpan(s)
		}
		return err
	}},
}

func latency(d Device) string {
	if d.Latency == 0 {
		return ""
	}
	return strconv.FormatInt(d.Latency.Microseconds(), 10) + "us"
}

func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

func parseNumber(s string, n *uint64) (err error) {
	// What has no limit is 2^64-1 or a word.
	if s == "infinity" || s == "[not set]" {
		return nil
	}
	*n, err = strconv.ParseUint(s, 10, 64)
	if *n == math.MaxUint64 {
		*n = 0
	}
	return err
}

// parse reads what systemctl show prints: a line for each property, and for lists one for each device
// ("IOReadBandwidthMax=/dev/sdb 10485760").
func parse(out string) (Properties, error) {
	var l Properties
	var quota, weight uint64
	for line := range strings.Lines(out) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if v == "" {
			continue
		}
		var err error
		switch k {
		case "IOWeight":
			err = parseNumber(v, &l.Weight)
		case "CPUWeight":
			err = parseNumber(v, &weight)
			l.CPUShares = uint64(limit.CPUSharesOf(int64(min(weight, limit.MaxWeight))))
		case "MemoryMax":
			err = parseNumber(v, &l.Memory)
		case "MemorySwapMax":
			l.NoSwap = v == "0"
			err = parseNumber(v, &l.Swap)
		case "CPUQuotaPerSecUSec":
			var d time.Duration
			if v != "infinity" {
				d, err = parseSpan(v)
			}
			quota = uint64(d.Microseconds())
		default:
			err = l.parseDevice(k, v)
		}
		if err != nil {
			return Properties{}, fmt.Errorf("systemd's %s: %w", strings.TrimSpace(line), err)
		}
	}
	l.CPUs = float64(quota) / 1e6
	return l, nil
}

func (l *Properties) parseDevice(name, v string) error {
	i := slices.IndexFunc(deviceProperties, func(x deviceProperty) bool { return x.shown == name })
	path, value, ok := strings.Cut(v, " ")
	if i < 0 || !ok {
		return nil
	}
	j := slices.IndexFunc(l.Devices, func(d Device) bool { return d.Path == path })
	if j < 0 {
		j = len(l.Devices)
		l.Devices = append(l.Devices, Device{Path: path})
	}
	return deviceProperties[i].set(&l.Devices[j], value)
}

// span is a part of a time as systemd prints it (systemd.time(7)).
var span = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)(us|ms|s|min|h|d|w)$`)

// parseSpan reads "1.500s" and "1min 5s"; 0 has no unit.
func parseSpan(s string) (time.Duration, error) {
	units := map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	var sum time.Duration
	if s == "0" {
		return 0, nil
	}
	for f := range strings.FieldsSeq(s) {
		m := span.FindStringSubmatch(f)
		if m == nil {
			return 0, fmt.Errorf("what time is %q?", s)
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(math.Round(n * float64(units[m[2]])))
	}
	return sum, nil
}

// Of returns the unit that has made a container's groups, whose properties are to be set in place
// of the groups' files; empty if systemd has not. It is the scope or service at the end of the
// group's path.
func Of(groups []target.Group) string {
	for _, g := range groups {
		if g.Version == 1 && !slices.Contains(g.Controllers, "name=systemd") {
			// Groups of other hierarchies may have been made by others.
			continue
		}
		if name := path.Base(g.Path); strings.HasSuffix(name, ".scope") || strings.HasSuffix(name, ".service") {
			return name
		}
	}
	return ""
}
