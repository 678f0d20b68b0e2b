package engineapi

import (
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// Asked reads limits from a container's config.json. A device has a path of its number ("/dev/block/8:0").
func Asked(r *specs.LinuxResources) Resources {
	var l Resources
	if r == nil {
		return l
	}
	if m := r.Memory; m != nil && m.Limit != nil {
		l.Memory = max(*m.Limit, 0) // -1 is none.
	}
	if c := r.CPU; c != nil {
		if c.Shares != nil {
			l.CPUShares = int64(*c.Shares)
		}
		if c.Quota != nil && *c.Quota > 0 {
			var told int64
			if c.Period != nil {
				told = int64(*c.Period)
			}
			l.CPUs = limit.CPUsOf(*c.Quota, told)
		}
	}
	if r.BlockIO != nil {
		askedIO(r.BlockIO, &l)
	}
	askedMax(r.Unified["io.max"], &l)
	return l
}

// device is the one of that number, added if it isn't there.
func (l *Resources) device(n device.Number) *Device {
	for i := range l.Devices {
		if d := &l.Devices[i]; d.Number == n {
			return d
		}
	}
	l.Devices = append(l.Devices, Device{Path: "/dev/block/" + n.String(), Number: n})
	return &l.Devices[len(l.Devices)-1]
}

// numbered is a number of config.json.
func numbered(major, minor int64) device.Number {
	return device.Number{Major: uint32(major), Minor: uint32(minor)}
}

func askedIO(b *specs.LinuxBlockIO, l *Resources) {
	if b.Weight != nil {
		l.Weight = *b.Weight
	}
	for _, d := range b.ThrottleReadBpsDevice {
		l.device(numbered(d.Major, d.Minor)).ReadBPS = d.Rate
	}
	for _, d := range b.ThrottleWriteBpsDevice {
		l.device(numbered(d.Major, d.Minor)).WriteBPS = d.Rate
	}
	for _, d := range b.ThrottleReadIOPSDevice {
		l.device(numbered(d.Major, d.Minor)).ReadIOPS = d.Rate
	}
	for _, d := range b.ThrottleWriteIOPSDevice {
		l.device(numbered(d.Major, d.Minor)).WriteIOPS = d.Rate
	}
	for _, d := range b.WeightDevice {
		if d.Weight != nil {
			l.device(numbered(d.Major, d.Minor)).Weight = *d.Weight
		}
	}
}

// askedMax reads lines of version 2's io.max, which config.json may have as they are.
func askedMax(text string, l *Resources) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		n, err := device.ParseNumber(f[0])
		if err != nil {
			continue
		}
		d := l.device(n)
		for _, kv := range f[1:] {
			k, v, _ := strings.Cut(kv, "=")
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				continue // max
			}
			switch k {
			case "rbps":
				d.ReadBPS = n
			case "wbps":
				d.WriteBPS = n
			case "riops":
				d.ReadIOPS = n
			case "wiops":
				d.WriteIOPS = n
			}
		}
	}
}
