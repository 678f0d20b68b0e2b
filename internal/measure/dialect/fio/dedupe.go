package fio

import "plimsoll/load"

// setDedupeMode sets which blocks are copied.
func setDedupeMode(j *job, v string) error {
	w, err := oneOf(v, "repeat", "working_set")
	if err == nil {
		j.dedupeSet = w == "working_set"
	}
	return err
}

// checkDedupe refuses a working set of unknown size.
func (j *job) checkDedupe(bad func(string, ...any) error) error {
	switch {
	case !j.dedupeSet || j.dedupe == 0 || !j.writes():
		return nil
	case j.size.percent || j.size.n == 0:
		return bad("dedupe_mode=working_set needs a size in bytes: the set is a part of it")
	case !j.refills():
		return bad("dedupe_mode=working_set contradicts refill_buffers=0: every copy is generated")
	}
	return nil
}

// globalSet is the seed of the blocks that all jobs with dedupe_global share. Its value means nothing.
const globalSet = 0x706c696d736f6c6c

// dedupeSet is the set of blocks that the clone copies, nil for a single block. of is the number of clones in the
// test.
func (c *clone) dedupeSet(of int) *load.DedupeSet {
	j := c.job
	if !j.dedupeSet || c.load.Dedupe == 0 {
		return nil
	}
	s := &load.DedupeSet{Blocks: max(j.size.n*j.dedupeShare/100/c.load.BS, 1)}
	if j.dedupeGlobal {
		s.Number, s.Of, s.Seed = int64(c.thread-1), int64(of), globalSet
	}
	return s
}
