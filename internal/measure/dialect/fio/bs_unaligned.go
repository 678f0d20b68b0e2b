package fio

import (
	"slices"

	"plimsoll/load"
)

// sizesAnyOf are the sizes of a range with bs_unaligned: every size, or as many evenly spaced ones as a job may have.
func sizesAnyOf(s string, kbBase int64) ([]load.SizeShare, error) {
	if _, err := parseRange(s, kbBase); err != nil {
		return nil, err
	}
	least, most, err := parseEnds(s, kbBase)
	if err != nil {
		return nil, err
	}
	n := min(most-least+1, maxSizes)
	out := make([]load.SizeShare, n)
	for i := range out {
		out[i] = load.SizeShare{Size: least + (most-least)*int64(i)/max(n-1, 1), Percent: 100 / float64(n)}
	}
	return out, nil
}

// maxSizes is how many sizes a job may have.
const maxSizes = 4096

// unalign turns ranges into those of bs_unaligned, wherever that option stands.
func (j *job) unalign(all []assignment) error {
	if !j.unaligned || !slices.ContainsFunc(all, func(a assignment) bool { return a.opt.Name == "bsrange" }) {
		return nil
	}
	for _, a := range all {
		switch {
		case a.opt.Name == "bsrange":
			a.opt = &Option{Name: "bsrange", set: splitTo(sizesAnyOf)}
		case a.opt.Name != "bssplit":
			continue
		}
		if err := a.apply(j); err != nil {
			return err
		}
	}
	return nil
}

// sizesByWay implements bs_is_seq_rand: I/Os at sequential offsets have the sizes of reads, those at random offsets
// the sizes of writes.
func (j *job) sizesByWay(bad func(string, ...any) error) error {
	if !j.seqRandSizes {
		return nil
	}
	if j.random() && (j.percRandom != nil || j.rwNumber > 1) {
		return bad("bs_is_seq_rand with both sequential and random offsets in one job is not supported; use two jobs")
	}
	if j.random() {
		j.bs.read, j.readSplit = j.bs.write, j.writeSplit
	} else {
		j.bs.write, j.writeSplit = j.bs.read, j.readSplit
	}
	return nil
}
