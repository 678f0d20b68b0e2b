package profile

import (
	"cmp"
	"strconv"
)

// A promise is a key that a backend keeps, or can't keep.
type promise struct {
	key string
	// value is the profile's, for people; "" if the key is not asked for.
	value func(*Profile) string
}

// promises are all keys but those that only describe.
var promises = []promise{
	{"capacity", func(p *Profile) string { return quantityText(gigabytes, p.Capacity) }},
	{"directory", func(p *Profile) string { return p.Directory }},
	{"filesystem", func(p *Profile) string { return p.Filesystem }},
	{"iops.min", func(p *Profile) string { return number(p.IOPS.Min) }},
	{"iops.max", func(p *Profile) string { return number(p.IOPS.Max) }},
	{"bandwidth.min", func(p *Profile) string { return quantityText(megabytes, p.Bandwidth.Min) }},
	{"bandwidth.max", func(p *Profile) string { return quantityText(megabytes, p.Bandwidth.Max) }},
	{"level", func(p *Profile) string { return number(int64(p.Level)) }},
	{"local", func(p *Profile) string { return yes(p.Local) }},
	{"node", func(p *Profile) string { return p.Node }},
	{"provision", func(p *Profile) string { return p.Provision }},
	{"type", func(p *Profile) string { return p.Type }},
	{"shared", func(p *Profile) string { return yes(p.Shared) }},
	{"interface", func(p *Profile) string { return p.Interface.Type }},
	{"service.autoexpand", func(p *Profile) string {
		a := p.Service.Autoexpand
		return only(a.Enabled, "at "+strconv.Itoa(a.Threshold)+" %")
	}},
	{"service.backup", func(p *Profile) string {
		b := p.Service.Backup
		return only(b.Enabled, each(b.Minutes))
	}},
	{"service.compression", func(p *Profile) string {
		c := p.Service.Compression
		return only(c.Enabled, c.Algorithm)
	}},
	{"service.dedupe", func(p *Profile) string { return yes(p.Service.Dedupe) }},
	{"service.encryption", func(p *Profile) string { return yes(p.Service.Encryption.Enabled) }},
	{"service.replication", func(p *Profile) string {
		r := p.Service.Replication
		return only(r.Enabled, r.Type)
	}},
	{"service.snapshot", func(p *Profile) string {
		s := p.Service.Snapshot
		return only(s.Enabled, each(s.Minutes))
	}},
}

// promiseKeys lists the keys of promises.
func promiseKeys() []string {
	keys := make([]string, len(promises))
	for i, p := range promises {
		keys[i] = p.key
	}
	return keys
}

func quantityText(u unit, v int64) string { return only(v > 0, u.format(v)) }

func number(v int64) string { return only(v > 0, strconv.FormatInt(v, 10)) }

func yes(v bool) string { return only(v, "yes") }

func each(minutes int) string { return "every " + interval(1, "").Format(max(1, minutes)).Value }

// only returns a text if a key is asked for.
func only(asked bool, text string) string {
	if !asked {
		return ""
	}
	return text
}

// Asked is what the profile asks for under a key, for people; "iops" and "bandwidth" are their ranges. It is "-" if that is nothing.
func (p *Profile) Asked(key string) string {
	switch key {
	case "iops":
		return rangeText(number(p.IOPS.Min), number(p.IOPS.Max))
	case "bandwidth":
		return rangeText(quantityText(megabytes, p.Bandwidth.Min), quantityText(megabytes, p.Bandwidth.Max))
	}
	for _, q := range promises {
		if q.key == key {
			return cmp.Or(q.value(p), "-")
		}
	}
	return "-"
}

// rangeText is MIN-MAX, or - without both.
func rangeText(min, max string) string {
	switch {
	case min+max == "":
		return "-"
	case min == "":
		return "up to " + max
	case max == "":
		return "from " + min
	}
	return min + "-" + max
}
