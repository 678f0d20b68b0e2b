// Package diskspd is the command line of Microsoft's DiskSpd 2.2: its options, its XML profiles, its
// text report and its XML results, with Plimsoll's load generator behind them.
//
// Parse makes a Profile of time spans of targets from a command line or from an XML file. Each time span becomes one
// stage, and each target one job whose threads are the target's threads, so that there is a row of results for each
// thread and target, as in DiskSpd. The measurements become a Results, which the two printers turn into text without
// any I/O of their own.
//
// Easily got wrong: DiskSpd's defaults are not fio's. Caching is on; writes have the bytes 0 to 255 over and over,
// which any compressor shrinks; each thread of a sequential test reads the whole target on its own; and reads and
// writes of a mixed test share one position.
//
// The rules and the layouts are those of DiskSpd 2.2's sources
// (https://github.com/microsoft/diskspd), its help text and its XSD; nothing of them is copied.
package diskspd

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/dialect"
)

// Version and VersionDate are those of the DiskSpd that is reproduced. Programs that read its XML check them.
const (
	Version     = "2.2.0"
	VersionDate = "2024/6/3"
)

// ParseOptions are what Parse needs from outside.
type ParseOptions struct {
	// Command is how the tool was called, for the report's first line. Default "diskspd".
	Command string
	// ReadFile reads an XML profile (-X) and the files of -Z<size>,<file>. nil: there are no files.
	ReadFile dialect.FileReader
	// Now gives the seed of a bare -z. nil: time.Now.
	Now func() time.Time
}

// A Test is a parsed command line without contradictions.
type Test struct {
	Profile Profile
	// Warnings are DiskSpd's own warnings about the command line, for stderr.
	Warnings []string
}

// Parse reads a command line without the program's name. All errors are *dialect.UsageErrors.
func Parse(args []string, opt ParseOptions) (*Test, error) {
	if opt.Command == "" {
		opt.Command = "diskspd"
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	p := &parser{opt: opt, where: map[string]string{}}
	if err := p.line(args); err != nil {
		return nil, err
	}
	t := &Test{Profile: p.profile}
	t.Profile.CommandLine = strings.Join(append([]string{opt.Command}, args...), " ")
	c := checker{where: p.where, xml: p.xmlPath}
	if err := c.profile(&t.Profile); err != nil {
		return nil, err
	}
	if !t.Profile.Only {
		if err := c.sources(&t.Profile, opt); err != nil {
			return nil, err
		}
	}
	t.Warnings = slices.Compact(c.warnings)
	return t, nil
}

// usage makes an error about an option or an element.
func usage(where, format string, args ...any) error { return dialect.Usagef(where, format, args...) }
