package orion

import (
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/text/size"
)

// An Option is one that Orion knows, or one of Plimsoll's own for it. The list is the source
// of docs/reference/orion.md.
type Option struct {
	// Name is the option as it is typed: "-run".
	Name string
	// Value is what follows it; "" for a switch.
	Value string
	// Note says what it does here, or why it isn't supported.
	Note string
	// Refused is set for what Orion knows and Plimsoll doesn't.
	Refused bool

	set func(t *Test, arg, value string) error
}

// Limits of what a line may ask for. They keep a typing error from planning years.
const (
	maxKB      = 1 << 20 // size of one I/O in KB: load's limit of 1 GiB
	maxDisks   = 1000
	maxDepth   = 4096 // load's limit of I/Os in flight
	maxStreams = 1024 // load's limit of threads
	maxCacheMB = 1 << 30
	maxSeconds = 30 * 24 * 3600
)

// Options are all options, in the order of Orion's help.
var Options = []Option{
	{Name: "-run", Value: "simple|normal|advanced|oltp|dss", Note: "the part of the matrix of loads to measure; required",
		set: word(func(t *Test) *string { return &t.Workload }, Simple, Normal, Advanced, OLTP, DSS)},
	{Name: "-testname", Value: "NAME", Note: "prefix of all files; NAME.lun lists the files to measure, one per line; default orion",
		set: func(t *Test, arg, v string) error {
			if v == "" || strings.ContainsAny(v, "\x00\n\r") {
				return dialect.Usagef(arg, "give a name, as in -testname mytest")
			}
			t.Name = v
			return nil
		}},
	{Name: "-num_disks", Value: "N", Note: "scales the loads of the matrix; default: the lines of NAME.lun",
		set: whole(func(t *Test) *int { return &t.Disks }, 1, maxDisks)},
	{Name: "-size_small", Value: "KB", Note: "size of a small I/O; default 8",
		set: whole(func(t *Test) *int { return &t.SmallKB }, 1, maxKB)},
	{Name: "-size_large", Value: "KB", Note: "size of a large I/O; default 1024",
		set: whole(func(t *Test) *int { return &t.LargeKB }, 1, maxKB)},
	{Name: "-type", Value: "rand|seq", Note: "large I/Os at random offsets, or in sequential streams; default rand",
		set: word(func(t *Test) *string { return &t.Type }, Rand, Seq)},
	{Name: "-num_streamIO", Value: "N", Note: "I/Os that each sequential stream keeps in flight; default 4",
		set: whole(func(t *Test) *int { return &t.StreamIO }, 1, maxDepth)},
	{Name: "-simulate", Value: "concat|raid0", Note: "how several files make one volume; default concat",
		set: word(func(t *Test) *string { return &t.Simulate }, Concat, RAID0)},
	{Name: "-stripe", Value: "KB", Note: "stripe of raid0, default 1024; sequential streams over several files need one as large as -size_large",
		set: whole(func(t *Test) *int { return &t.StripeKB }, 1, maxKB)},
	{Name: "-write", Value: "PERCENT", Note: "share of writes, default 0; of sequential streams the share that writes",
		set: whole(func(t *Test) *int { return &t.Write }, 0, 100)},
	{Name: "-cache_size", Value: "MB", Note: "unmeasured random I/O before each point of sequential streams; default: for 2 minutes; 0: none",
		set: whole(func(t *Test) *int { return &t.CacheMB }, 0, maxCacheMB)},
	{Name: "-duration", Value: "SECONDS", Note: "time of each data point; default 60",
		set: whole(func(t *Test) *int { return &t.Seconds }, 1, maxSeconds)},
	{Name: "-num_small", Value: "N", Note: "small I/Os in flight, with -matrix point, col or max",
		set: whole(func(t *Test) *int { return &t.NumSmall }, 0, maxDepth)},
	{Name: "-num_large", Value: "N", Note: "large I/Os in flight, or streams, with -matrix point, row or max",
		set: whole(func(t *Test) *int { return &t.NumLarge }, 0, maxDepth)},
	{Name: "-matrix", Value: "basic|detailed|point|col|row|max", Note: "part of the matrix, with -run advanced; default basic",
		set: word(func(t *Test) *string { return &t.Matrix }, Basic, Detailed, Point, Col, Row, Max)},
	{Name: "-verbose", Note: "prints a line for each data point",
		set: func(t *Test, _, _ string) error { t.Verbose = true; return nil }},
	{Name: "-hugenotneeded", Note: "accepted; huge pages are never needed here",
		set: func(*Test, string, string) error { return nil }},
	{Name: "-storax", Value: "skgfr", Note: "accepted; the I/O is Plimsoll's. oss, asmlib and odmlib are refused",
		set: func(_ *Test, arg, v string) error {
			if strings.EqualFold(v, "skgfr") {
				return nil
			}
			return dialect.Usagef(arg, "files and block devices are measured (skgfr); oss, asmlib and odmlib need Oracle's libraries")
		}},
	{Name: "--lun-size", Value: "SIZE", Note: "Plimsoll's own: creates missing files with this size, such as 1GiB; without NAME.lun one file, NAME.dat",
		set: func(t *Test, arg, v string) error {
			n, err := size.Parse(v)
			if err != nil {
				return dialect.Usagef(arg, "%v", err)
			}
			if n < 1<<20 || n%(1<<20) != 0 {
				return dialect.Usagef(arg, "give whole MiB, as in 1GiB")
			}
			t.LUNSize = n
			return nil
		}},
	{Name: "-help", Refused: true, Note: "use --help"},
}

// names are the options that are supported.
func names() []string {
	var all []string
	for _, o := range Options {
		if !o.Refused {
			all = append(all, o.Name)
		}
	}
	return all
}

// word makes a setter of one of some words, which Orion takes in any case.
func word(at func(*Test) *string, words ...string) func(*Test, string, string) error {
	return func(t *Test, arg, v string) error {
		for _, w := range words {
			if strings.EqualFold(v, w) {
				*at(t) = w
				return nil
			}
		}
		if n := dialect.Nearest(strings.ToLower(v), words); n != "" {
			return dialect.Usagef(arg, "%q is unknown; did you mean %s?", v, n)
		}
		return dialect.Usagef(arg, "use one of %s", strings.Join(words, ", "))
	}
}

// whole makes a setter of a whole number.
func whole(at func(*Test) *int, least, most int) func(*Test, string, string) error {
	return func(t *Test, arg, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < int64(least) || n > int64(min(most, math.MaxInt32)) {
			return dialect.Usagef(arg, "must be a whole number from %d to %d", least, most)
		}
		*at(t) = int(n)
		return nil
	}
}
