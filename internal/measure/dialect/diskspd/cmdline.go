package diskspd

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/measure/dialect"
)

// Bounds of a line. DiskSpd has none; these are the load generator's, and keep a slip from
// taking the machine's memory.
const (
	maxTargets     = 1024
	maxThreads     = 1024
	maxOutstanding = 4096
	maxRanges      = 256
)

// A parser collects what the options say.
type parser struct {
	opt     ParseOptions
	profile Profile
	span    Span
	target  Target // of which all of the line's are copies
	paths   []string

	arg     string            // the argument at work
	at      string            // its place, for errors
	where   map[string]string // places of options, for errors about several
	values  map[string]string // of options that may be given once
	xmlPath string

	cacheSet, throughSet, mapSet bool
	aligned                      bool // -r or -s gave an alignment
	sequentialSet                bool
}

// line reads a whole command line.
func (p *parser) line(args []string) error {
	p.span, p.target, p.values = newSpan(), newTarget(""), map[string]string{}
	var opts []string
	var places []string
	for i, a := range args {
		place := dialect.Argument(i, a)
		switch {
		case a == "":
			return usage(fmt.Sprintf("argument %d", i+1), "is empty")
		case !isOption(a):
			p.paths = append(p.paths, a)
		case len(p.paths) > 0:
			return usage(place, "options have to come before the targets (%s)", p.paths[0])
		default:
			opts, places = append(opts, a[1:]), append(places, place)
		}
	}
	if len(p.paths) > maxTargets {
		return usage(fmt.Sprintf("argument %d", len(args)), "more than %d targets", maxTargets)
	}
	// Sizes may be in blocks, wherever -b stands.
	for _, first := range []bool{true, false} {
		for i, a := range opts {
			if strings.HasPrefix(a, "b") != first {
				continue
			}
			p.arg, p.at = a, places[i]
			if err := p.option(a); err != nil {
				return err
			}
		}
	}
	if p.xmlPath != "" {
		return p.fromXML()
	}
	if len(p.paths) == 0 {
		return usage("command line", "a target is missing: the path of a file, behind the options")
	}
	p.target.tail()
	for _, path := range p.paths {
		t := p.target
		t.Path = path
		p.span.Targets = append(p.span.Targets, t)
	}
	p.profile.Spans = []Span{p.span}
	return nil
}

// isOption tells options from targets. DiskSpd takes a slash for a dash; where paths begin with one,
// it is an option only if it reads as one.
func isOption(a string) bool {
	if a[0] == '-' {
		return true
	}
	if a[0] != '/' || len(a) < 2 {
		return false
	}
	if strings.Contains(a[1:], "/") && !strings.HasPrefix(a, "/rd") && !strings.HasPrefix(a, "/X") {
		return false
	}
	if strings.HasPrefix(a, "/X") {
		return strings.Count(a, "/") == 1
	}
	// A scratch parser: does it read as an option?
	q := &parser{opt: ParseOptions{Now: time.Now}, span: newSpan(), target: newTarget(""), where: map[string]string{}, values: map[string]string{}}
	q.arg = a[1:]
	return q.option(a[1:]) == nil
}

// option reads one option, without its dash.
func (p *parser) option(a string) error {
	o, value := find(a)
	if o == nil {
		return unknown(p.at, a)
	}
	if !strings.Contains(" X r rs a f S v c ", " "+o.prefix+" ") { // these look themselves, or the last of them counts
		if before, twice := p.values[o.prefix]; twice && before != value {
			return usage(p.at, "contradicts -%s%s before it", o.prefix, before)
		}
	}
	p.values[o.prefix] = value
	if p.where[o.prefix] == "" {
		p.where[o.prefix] = p.at
	}
	return o.set(p, value)
}

// bad is an error about the argument at work.
func (p *parser) bad(format string, args ...any) error { return usage(p.at, format, args...) }

// refuse is an option that nothing is done for.
func refuse(why string) func(*parser, string) error {
	return func(p *parser, _ string) error { return p.bad("isn't supported: %s", why) }
}

// number reads a whole number from low to high.
func (p *parser) number(value string, low, high uint64) (uint32, error) {
	if value == "" {
		return 0, p.bad("the number is missing; it must follow the option without a space, as in -%s%d", p.arg, max(low, 1))
	}
	n, err := parseUint(value, 64)
	if err != nil {
		return 0, p.bad("%q %v", value, err)
	}
	if n < low || n > high {
		return 0, p.bad("%d must be from %d to %d", n, low, high)
	}
	return uint32(n), nil
}

// size reads a size.
func (p *parser) size(value string) (uint64, error) {
	if value == "" {
		return 0, p.bad("the size is missing; it must follow the option without a space, as in -%s64K", p.arg)
	}
	n, err := parseSize(value, uint64(p.target.Block))
	if err != nil {
		return 0, p.bad("%v", err)
	}
	return n, nil
}

// none refuses a value behind an option that has none.
func (p *parser) none(value string) error {
	if value != "" {
		return p.bad("-%s takes no value", strings.TrimSuffix(p.arg, value))
	}
	return nil
}

func flagOf(field func(*Target) *bool) func(*parser, string) error {
	return func(p *parser, value string) error {
		*field(&p.target) = true
		return p.none(value)
	}
}

func spanFlag(field func(*Span) *bool) func(*parser, string) error {
	return func(p *parser, value string) error {
		*field(&p.span) = true
		return p.none(value)
	}
}

func seconds(field func(*Span) *uint32, name string) func(*parser, string) error {
	return func(p *parser, value string) error {
		n, err := p.number(value, 0, 365*24*3600)
		if err != nil {
			return err
		}
		*field(&p.span) = n
		return nil
	}
}

func count(field func(*Target) *uint32) func(*parser, string) error {
	return func(p *parser, value string) error {
		n, err := p.number(value, 1, maxOutstanding)
		if err != nil {
			return err
		}
		*field(&p.target) = n
		return nil
	}
}
