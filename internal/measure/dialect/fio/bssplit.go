package fio

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/load"
)

// splitTo reads both directions of bssplit or bsrange.
func splitTo(one func(string, int64) ([]load.SizeShare, error)) setter {
	return func(j *job, v string) error {
		parts := strings.Split(v, ",")
		if len(parts) > 3 {
			return fmt.Errorf("%q has more than three parts: reads, writes, trims", v)
		}
		for i, p := range parts {
			if p == "" {
				continue
			}
			s, err := one(p, j.kbBase)
			if err != nil {
				return err
			}
			switch i {
			case 0:
				j.readSplit = s
				if len(parts) == 1 {
					j.writeSplit, j.trimSplit = s, s
				}
			case 1:
				j.writeSplit = s
				if len(parts) == 2 {
					j.trimSplit = s
				}
			case 2:
				j.trimSplit = s
			}
		}
		return nil
	}
}

// parseSplit reads one direction of bssplit: 4k/10:64k/:32k/40. Sizes without a share divide the rest equally.
func parseSplit(s string, kbBase int64) ([]load.SizeShare, error) {
	var all []load.SizeShare
	left, open := 100.0, 0
	for _, e := range strings.Split(s, ":") {
		size, share, _ := strings.Cut(e, "/")
		size, _, _ = strings.Cut(size, "-") // fio uses the first size of a range.
		n, err := parseSize(size, kbBase)
		if err != nil {
			return nil, err
		}
		if n < 1 || n > 1<<30 {
			return nil, fmt.Errorf("%q: a block size is from 1 byte to 1 GiB", e)
		}
		sh := load.SizeShare{Size: n, Percent: -1}
		if share != "" {
			p, err := strconv.Atoi(strings.TrimSuffix(share, ".")) // fio stops reading at the point.
			if err != nil || p < 0 || p > 100 {
				return nil, fmt.Errorf("%q: the share must be a whole percentage from 0 to 100", e)
			}
			sh.Percent = float64(p)
			left -= sh.Percent
		} else {
			open++
		}
		all = append(all, sh)
		if len(all) > 64 {
			return nil, fmt.Errorf("there are more than 64 sizes")
		}
	}
	switch {
	case left < 0 && open > 0:
		return nil, fmt.Errorf("%q: the shares add up to %v %%, which leaves nothing for sizes without one", s, 100-left)
	case left > 0 && open == 0:
		all[len(all)-1].Percent += left // As in fio. Shares of more than 100 in all are relative to their sum.
	}
	var out []load.SizeShare
	for _, e := range all {
		if e.Percent < 0 {
			e.Percent = left / float64(open)
		}
		if e.Percent > 0 {
			out = append(out, e)
		}
	}
	return out, nil
}

// parseEnds reads the ends of a range of sizes, in either order.
func parseEnds(s string, kbBase int64) (a, b int64, err error) {
	lo, hi, ok := strings.Cut(s, "-")
	if !ok {
		lo, hi, ok = strings.Cut(s, ":")
	}
	if !ok {
		return 0, 0, fmt.Errorf("%q must be two sizes, as in 4k-64k", s)
	}
	if a, err = parseSize(lo, kbBase); err == nil {
		b, err = parseSize(hi, kbBase)
	}
	return min(a, b), max(a, b), err
}

// parseRange reads one direction of bsrange, 1k-16k: all multiples of the smaller size, equally often.
func parseRange(s string, kbBase int64) ([]load.SizeShare, error) {
	a, b, err := parseEnds(s, kbBase)
	if err != nil {
		return nil, err
	}
	if a < 1 || b > 1<<30 || b/a > 4096 {
		return nil, fmt.Errorf("%q: the larger may be up to 4096 times the smaller; use bssplit instead", s)
	}
	var out []load.SizeShare
	n := b / a
	for i := range n {
		out = append(out, load.SizeShare{Size: a * (i + 1), Percent: 100 / float64(n)})
	}
	return out, nil
}
