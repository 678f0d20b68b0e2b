// Package dd is dd's vocabulary: a line such as
//
//	dd if=/dev/zero of=/data/test bs=1M count=100 oflag=direct conv=fsync
//
// does what dd does, one block after the other, and ends with dd's last lines, unchanged. The operands are those of
// GNU coreutils 9.1 (dd(1)); operands without measurable I/O, such as conversions of text, are refused.
package dd

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure/dialect"
)

// A Test is a parsed line.
type Test struct {
	// In and Out are if= and of=. One of them is a device that produces or discards data without I/O.
	In, Out string
	// BS is the block size in bytes, Count the number of blocks (-1: all), Skip and Seek the start in the input and
	// the output, in blocks.
	BS, Count, Skip, Seek int64
	// InFlags, OutFlags and Conv are the lists of iflag=, oflag= and conv=.
	InFlags, OutFlags, Conv []string
	// Status is none, noxfer, progress, or "" for the usual lines.
	Status string
	// Destructive lists paths that may be overwritten.
	Destructive []string
}

// Sources and sinks without I/O.
const (
	zero    = "/dev/zero"
	random  = "/dev/urandom"
	random2 = "/dev/random"
	null    = "/dev/null"
)

// defaultBS is dd's.
const defaultBS = 512

// words are dd's operands and the words that their lists may have here.
var (
	operands = []string{"if", "of", "bs", "ibs", "obs", "cbs", "count", "skip", "iseek", "seek", "oseek", "iflag", "oflag", "conv", "status"}
	flags    = []string{"direct", "dsync", "sync", "count_bytes", "skip_bytes", "seek_bytes", "fullblock", "nocache", "noatime", "nonblock", "append"}
	convs    = []string{"fsync", "fdatasync", "notrunc", "nocreat", "excl", "sync"}
)

// sameAs are other spellings of operands.
var sameAs = map[string]string{"iseek": "skip", "oseek": "seek"}

// refused maps the operands and words of dd that are not supported to the reason.
var refused = map[string]string{
	"cbs": "converts text, which is no I/O", "ascii": "converts text", "ebcdic": "converts text", "ibm": "converts text",
	"block": "converts text", "unblock": "converts text", "lcase": "converts text", "ucase": "converts text",
	"swab": "converts data", "sparse": "leaves blocks out", "noerror": "goes on after errors, whose figures show nothing",
	"directory": "opens folders", "nolinks": "isn't supported", "nofollow": "isn't supported", "noctty": "isn't supported", "binary": "isn't supported", "text": "isn't supported",
}

// Parse reads dd's operands.
func Parse(args []string, destructive []string) (*Test, error) {
	t := &Test{BS: defaultBS, Count: -1, Destructive: destructive}
	var ibs, obs, count, skip, seek string
	seen := map[string]bool{}
	for i, arg := range args {
		a := dialect.Argument(i, arg)
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, dialect.Usagef(a, "dd's operands have the form name=value, as in if=/dev/zero")
		}
		if !slices.Contains(operands, name) {
			return nil, unknown(a, name, operands)
		}
		if why := refused[name]; why != "" {
			return nil, dialect.Usagef(a, "%s= %s", name, why)
		}
		if other := sameAs[name]; other != "" {
			name = other
		}
		if seen[name] && name != "conv" && name != "iflag" && name != "oflag" {
			return nil, dialect.Usagef(a, "%s= was given before", name)
		}
		seen[name] = true
		var err error
		switch name {
		case "if":
			t.In = value
		case "of":
			t.Out = value
		case "bs":
			t.BS, err = size(a, value)
		case "ibs":
			ibs = value
			_, err = size(a, value) // Also beside bs=, which takes its place.
		case "obs":
			obs = value
			_, err = size(a, value)
		case "count":
			count = value
		case "skip":
			skip = value
		case "seek":
			seek = value
		case "iflag":
			t.InFlags, err = list(a, t.InFlags, value, flags)
		case "oflag":
			t.OutFlags, err = list(a, t.OutFlags, value, flags)
		case "conv":
			t.Conv, err = list(a, t.Conv, value, convs)
		case "status":
			if !slices.Contains([]string{"none", "noxfer", "progress"}, value) {
				err = dialect.Usagef(a, "use none, noxfer or progress")
			}
			t.Status = value
		}
		if err != nil {
			return nil, err
		}
	}
	if err := t.blocks(seen["bs"], ibs, obs); err != nil {
		return nil, err
	}
	for _, n := range []struct {
		name, text string
		flags      []string
		to         *int64
	}{{"count", count, t.InFlags, &t.Count}, {"skip", skip, t.InFlags, &t.Skip}, {"seek", seek, t.OutFlags, &t.Seek}} {
		if !seen[n.name] {
			continue
		}
		if err := t.number(n.name, n.text, n.flags, n.to); err != nil {
			return nil, err
		}
	}
	return t, t.check()
}

// blocks sets the block size from ibs or obs. If only one of them is given, dd uses its default for the other.
func (t *Test) blocks(bs bool, ibs, obs string) error {
	if bs || ibs+obs == "" {
		return nil // bs= overrides both, as in dd.
	}
	sizes := [2]int64{defaultBS, defaultBS}
	for i, o := range []struct{ name, text string }{{"ibs", ibs}, {"obs", obs}} {
		if o.text == "" {
			continue
		}
		n, err := size(o.name+"="+o.text, o.text)
		if err != nil {
			return err
		}
		sizes[i] = n
	}
	switch {
	case sizes[0] == sizes[1]:
	case ibs == "":
		return dialect.Usagef("obs="+obs, "differs from ibs=, which is %d without it; one block size is measured: use bs=%s", defaultBS, obs)
	case obs == "":
		return dialect.Usagef("ibs="+ibs, "differs from obs=, which is %d without it; one block size is measured: use bs=%s", defaultBS, ibs)
	default:
		return dialect.Usagef("obs="+obs, "differs from ibs=%s; one block size is measured: use bs=", ibs)
	}
	t.BS = sizes[0]
	return nil
}

// number reads a count of blocks, or of bytes where a flag or a trailing B says so.
func (t *Test) number(name, text string, flags []string, to *int64) error {
	arg := name + "=" + text
	// From coreutils 9.1 on a number that ends in B counts bytes.
	inBytes := slices.Contains(flags, name+"_bytes") || strings.HasSuffix(text, "B") && !strings.HasSuffix(text, "iB")
	n, err := quantity(arg, text)
	if err != nil {
		return err
	}
	if inBytes {
		if n%t.BS != 0 {
			return dialect.Usagef(arg, "%d bytes are no whole number of blocks of %d; I/Os of several sizes are not measured", n, t.BS)
		}
		n /= t.BS
	}
	*to = n
	return nil
}

func list(arg string, have []string, value string, all []string) ([]string, error) {
	for w := range strings.SplitSeq(value, ",") {
		if slices.Contains(all, w) {
			have = append(have, w)
			continue
		}
		if why := refused[w]; why != "" {
			return nil, dialect.Usagef(arg, "%s %s", w, why)
		}
		return nil, unknown(arg, w, all)
	}
	return have, nil
}

func unknown(arg, word string, all []string) error {
	if n := dialect.Nearest(word, all); n != "" {
		return dialect.Usagef(arg, "%q is unknown; did you mean %s?", word, n)
	}
	return dialect.Usagef(arg, "%q is not one of %s", word, strings.Join(all, ", "))
}

// size reads a block size: from 1 byte to 1 GiB.
func size(arg, text string) (int64, error) {
	n, err := quantity(arg, text)
	if err == nil && (n < 1 || n > 1<<30) {
		err = dialect.Usagef(arg, "a block has from 1 byte to 1 GiB")
	}
	return n, err
}

// suffixes are dd's multipliers.
var suffixes = map[string]int64{"": 1, "c": 1, "w": 2, "b": 512, "B": 1}

func init() {
	power := []int64{1, 1, 1, 1, 1}
	decimal := []int64{1, 1, 1, 1, 1}
	for i := 1; i < len(power); i++ {
		power[i], decimal[i] = power[i-1]<<10, decimal[i-1]*1000
		for _, c := range []string{"", "K", "M", "G", "T"}[i : i+1] {
			suffixes[c], suffixes[c+"iB"], suffixes[c+"B"] = power[i], power[i], decimal[i]
		}
	}
	suffixes["k"], suffixes["kB"] = 1<<10, 1000
}

// quantity reads a number with a multiplier, or a product such as 2x512.
func quantity(arg, text string) (int64, error) {
	total := int64(1)
	for part := range strings.SplitSeq(text, "x") {
		i := 0
		for i < len(part) && part[i] >= '0' && part[i] <= '9' {
			i++
		}
		m, ok := suffixes[part[i:]]
		n, err := strconv.ParseInt(part[:i], 10, 64)
		if err != nil || !ok {
			return 0, dialect.Usagef(arg, "%q is not a number with one of dd's multipliers, as in 512, 4K or 1M", part)
		}
		if n != 0 && (m > math.MaxInt64/n || total > math.MaxInt64/(n*m)) {
			return 0, dialect.Usagef(arg, "%q is too large", text)
		}
		total *= n * m
	}
	return total, nil
}

// check looks for contradictions in the command line as a whole.
func (t *Test) check() error {
	source := t.In == zero || t.In == random || t.In == random2
	inDirect, outDirect := slices.Contains(t.InFlags, "direct"), slices.Contains(t.OutFlags, "direct")
	switch {
	case t.In == "" || t.Out == "":
		return dialect.Usagef("if= and of=", "both are needed: standard input and standard output are not storage")
	case source && t.Out == null:
		return dialect.Usagef("of="+t.Out, "neither side is storage")
	case !source && t.Out != null:
		return dialect.Usagef("of="+t.Out, "a copy from one file to another would measure both at once; measure the reading with of=%s, or the writing with if=%s", null, zero)
	case source && t.Count < 0:
		return dialect.Usagef("if="+t.In, "without count= it would write until the disk is full")
	case t.Count == 0:
		return dialect.Usagef("count=0", "there is nothing to do")
	case t.Skip > math.MaxInt64/2/t.BS:
		return dialect.Usagef(fmt.Sprintf("skip=%d", t.Skip), "too large for any file")
	case t.Seek > math.MaxInt64/2/t.BS:
		return dialect.Usagef(fmt.Sprintf("seek=%d", t.Seek), "too large for any file")
	case t.Count > 0 && t.Count > math.MaxInt64/2/t.BS-t.Seek-t.Skip:
		return dialect.Usagef(fmt.Sprintf("count=%d", t.Count), "too large for any file")
	case slices.Contains(t.Conv, "nocreat") && slices.Contains(t.Conv, "excl"):
		return dialect.Usagef("conv=nocreat", "contradicts conv=excl: one needs the file to exist, the other needs it not to")
	case source && (t.Skip > 0 || inDirect):
		return dialect.Usagef("if="+t.In, "skip= and iflag=direct have no meaning for it")
	case t.Out == null && (t.Seek > 0 || slices.ContainsFunc(t.Conv, func(c string) bool { return c != "sync" && c != "notrunc" }) || outDirect):
		return dialect.Usagef("of="+t.Out, "seek=, oflag=direct, and of conv= all but sync and notrunc, have no meaning for it")
	case t.BS%512 != 0 && (t.Out == null && inDirect || t.Out != null && outDirect):
		return dialect.Usagef(fmt.Sprintf("bs=%d", t.BS), "direct I/O needs a multiple of 512: use bs=%d, or leave out the flag direct", (t.BS/512+1)*512)
	case slices.Contains(t.InFlags, "append"):
		return dialect.Usagef("iflag=append", "is for oflag=: nothing is written to the input")
	}
	return nil
}
