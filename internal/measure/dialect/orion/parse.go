// Package orion is Oracle Orion's vocabulary: a line such as
//
//	orion -run simple -testname mytest -hugenotneeded
//
// measures the files that mytest.lun lists at each point of a matrix of loads, small I/Os against
// large ones, and leaves Orion's lines on the terminal and its files in the current
// folder. A load is a number of I/Os that are always outstanding: a closed loop.
//
// Orion is closed. What is known of it comes from its help, the documentation and published
// runs; docs/reference/orion.md says what is inference. One thing is not kept: published runs of Orion read
// the same few blocks again and again; here random offsets go over the whole of the files.
package orion

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"plimsoll/internal/measure/dialect"
)

// Types of large I/O (-type), and ways to make a volume of several files (-simulate).
const (
	Rand   = "rand"
	Seq    = "seq"
	Concat = "concat"
	RAID0  = "raid0"
)

// notGiven marks an option that has no number of its own as default.
const notGiven = -1

// A Test is a parsed line.
type Test struct {
	// Args is the line, for the summary.
	Args []string
	// Workload is -run, Name -testname, Matrix -matrix, Type -type and Simulate -simulate.
	Workload, Name, Matrix, Type, Simulate string
	// Disks is -num_disks. SmallKB, LargeKB and StripeKB are sizes in KB, Write is a percentage.
	Disks, SmallKB, LargeKB, StripeKB, Write int
	// StreamIO is -num_streamIO, NumSmall and NumLarge are -num_small and -num_large (-1: not given).
	StreamIO, NumSmall, NumLarge int
	// CacheMB is -cache_size (-1: not given), Seconds -duration.
	CacheMB, Seconds int
	Verbose          bool
	// LUNs are the files to measure, as NAME.lun or the default names them.
	LUNs []string
	// LUNSize is the size in bytes of a file that doesn't exist. 0: it has to.
	LUNSize int64
	// Destructive lists files that may be written over.
	Destructive []string

	// leave is Destructive in the session.
	leave  []string
	matrix matrix
}

// maxLUNFile bounds NAME.lun, in bytes, and maxLUNs the files in it.
const (
	maxLUNFile = 1 << 20
	maxLUNs    = 1000
)

// Parse reads Orion's options. read reads a file of this machine: NAME.lun.
func Parse(args, destructive []string, read dialect.FileReader) (*Test, error) {
	t := &Test{
		Args: args, Name: "orion", Type: Rand, Simulate: Concat, SmallKB: 8, LargeKB: 1024, StreamIO: 4,
		NumSmall: notGiven, NumLarge: notGiven, CacheMB: notGiven, Seconds: 60, Destructive: destructive,
	}
	seen := map[string]string{}
	for i := 0; i < len(args); i++ {
		arg := dialect.Argument(i, args[i])
		o, value, err := find(args[i], arg)
		if err != nil {
			return nil, err
		}
		if o.Value != "" && value == nil {
			if i+1 == len(args) {
				return nil, dialect.Usagef(arg, "needs a value: %s", o.Value)
			}
			i++
			value = &args[i]
			arg += " " + args[i]
		}
		if first, ok := seen[o.Name]; ok {
			return nil, dialect.Usagef(arg, "was given before: %s", first)
		}
		seen[o.Name] = arg
		if value == nil {
			value = new(string)
		}
		if err := o.set(t, arg, *value); err != nil {
			return nil, err
		}
	}
	if err := t.check(seen); err != nil {
		return nil, err
	}
	if err := t.readLUNs(read); err != nil {
		return nil, err
	}
	return t, t.layOut()
}

// find returns the option that an argument names, and the value glued to it with "=", if
// it is one of Plimsoll's own. at is where the argument is.
func find(arg, at string) (*Option, *string, error) {
	name := arg
	var value *string
	if rest, ok := strings.CutPrefix(arg, "--"); ok {
		if n, v, glued := strings.Cut(rest, "="); glued {
			name, value = "--"+n, &v
		}
	}
	for i := range Options {
		o := &Options[i]
		if !strings.EqualFold(name, o.Name) {
			continue
		}
		if o.Refused {
			return nil, nil, dialect.Usagef(at, "%s", o.Note)
		}
		return o, value, nil
	}
	// Articles and word processors make dashes of the hyphen.
	if r := []rune(arg); len(r) > 0 && (r[0] == '–' || r[0] == '—') {
		return nil, nil, dialect.Usagef(at, "begins with a dash of typography; type the hyphen: -%s", string(r[1:]))
	}
	if !strings.HasPrefix(arg, "-") {
		return nil, nil, dialect.Usagef(at, "is not an option; Orion's begin with a hyphen, as in -run simple")
	}
	low := strings.ToLower(arg)
	if n := dialect.Nearest(low, names()); n != "" {
		return nil, nil, dialect.Usagef(at, "is unknown; did you mean %s?", n)
	}
	return nil, nil, dialect.Usagef(at, "is unknown; the options are %s", strings.Join(names(), " "))
}

// check looks for contradictions. seen holds the options that were given, as they were.
func (t *Test) check(seen map[string]string) error {
	need := func(name, why string) error {
		if seen[name] == "" {
			return dialect.Usagef("-matrix "+t.Matrix, "needs %s, %s", name, why)
		}
		return nil
	}
	refuse := func(name, format string, args ...any) error {
		if at := seen[name]; at != "" {
			return dialect.Usagef(at, format, args...)
		}
		return nil
	}
	var errs []error
	if t.Workload == "" {
		return dialect.Usagef("orion", "give -run simple, normal, advanced, oltp or dss")
	}
	if t.Workload != Advanced {
		for _, n := range []string{"-matrix", "-num_small", "-num_large"} {
			errs = append(errs, refuse(n, "only -run advanced chooses its points; -run %s has its own", t.Workload))
		}
		return errors.Join(append(errs, t.checkSizes(seen))...)
	}
	if t.Matrix == "" {
		t.Matrix = Basic
	}
	if t.Matrix == Point || t.Matrix == Col || t.Matrix == Max {
		errs = append(errs, need("-num_small", "the small I/Os in flight"))
	} else {
		errs = append(errs, refuse("-num_small", "has a meaning with -matrix point, col or max, not with %s", t.Matrix))
	}
	if t.Matrix == Point || t.Matrix == Row || t.Matrix == Max {
		errs = append(errs, need("-num_large", "the large I/Os in flight, or streams"))
	} else {
		errs = append(errs, refuse("-num_large", "has a meaning with -matrix point, row or max, not with %s", t.Matrix))
	}
	return errors.Join(append(errs, t.checkSizes(seen))...)
}

// checkSizes looks at what doesn't depend on the run.
func (t *Test) checkSizes(seen map[string]string) error {
	if at := seen["-num_streamIO"]; at != "" && t.Type != Seq {
		return dialect.Usagef(at, "only sequential streams have it; add -type seq")
	}
	if at := seen["-stripe"]; at != "" && t.Simulate != RAID0 {
		return dialect.Usagef(at, "only a striped volume has stripes; add -simulate raid0")
	}
	return nil
}

// readLUNs reads NAME.lun.
func (t *Test) readLUNs(read dialect.FileReader) error {
	name := t.Name + ".lun"
	text, err := read(name, maxLUNFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.LUNSize > 0:
		t.LUNs = []string{t.Name + ".dat"}
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return dialect.Usagef(name, "does not exist; it has to list the files to measure, one a line. With --lun-size SIZE and no list, Plimsoll makes one file of that size")
	case err != nil:
		return dialect.Usagef(name, "%v", err)
	case len(text) > maxLUNFile:
		return dialect.Usagef(name, "is longer than a list of files may be, %d bytes", maxLUNFile)
	case bytes.IndexByte(text, 0) >= 0:
		return dialect.Usagef(name, "holds a NUL byte; it should be a list of files, one a line")
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		for _, have := range t.LUNs {
			if have == line {
				return dialect.Usagef(name, "names %s twice", line)
			}
		}
		if t.LUNs = append(t.LUNs, line); len(t.LUNs) > maxLUNs {
			return dialect.Usagef(name, "names more than %d files", maxLUNs)
		}
	}
	if len(t.LUNs) == 0 {
		return dialect.Usagef(name, "names no file")
	}
	return nil
}

// layOut makes the matrix, when the number of disks is known.
func (t *Test) layOut() error {
	if t.Disks == 0 {
		t.Disks = len(t.LUNs)
	}
	if t.StripeKB == 0 {
		t.StripeKB = 1024
	}
	if t.Simulate == RAID0 && t.Type == Seq && len(t.LUNs) > 1 && t.StripeKB != t.LargeKB {
		return dialect.Usagef(fmt.Sprintf("-stripe %d", t.StripeKB), "sequential streams over several files go to the next file with each I/O; make it as large as -size_large (%d)", t.LargeKB)
	}
	small, large := smallPerDisk*t.Disks+1, largePerDisk*t.Disks+1
	if k := t.part(); (k == Detailed || k == Max) && small*large > maxPoints {
		return dialect.Usagef(fmt.Sprintf("-num_disks %d", t.Disks), "makes %d data points; %d are allowed", small*large, maxPoints)
	}
	t.matrix = newMatrix(t)
	if len(t.matrix.points) == 0 {
		return dialect.Usagef("-matrix "+t.Matrix, "with -num_small %d and -num_large %d there is no load", t.NumSmall, t.NumLarge)
	}
	for _, p := range t.matrix.points {
		if t.Type == Seq && (p.Large > maxStreams || p.Large*t.StreamIO > 8*maxDepth) {
			return dialect.Usagef(fmt.Sprintf("-num_disks %d", t.Disks), "asks for %d sequential streams of %d I/Os; lower it", p.Large, t.StreamIO)
		}
		if p.Small > maxDepth || p.Large > maxDepth {
			return dialect.Usagef(fmt.Sprintf("-num_disks %d", t.Disks), "asks for %d I/Os in flight; %d are allowed", max(p.Small, p.Large), maxDepth)
		}
	}
	return nil
}
