package fio

// gapsEnd is after how many bytes a sequential pattern with gaps ends in a file of size bytes, 0 if it goes on at the beginning. As in fio it does
// that only if a gap reaches the end of the file: where a block ends there, or where no whole block is left behind a gap, the pass is
// the last one.
func (j *job) gapsEnd(size, bs int64) int64 {
	gap := j.rwNumber
	sequential := !j.random() && !(j.reads() && j.writes())
	if !sequential || gap <= 0 || size < bs || max(size, gap) > maxRate {
		return 0
	}
	blocks := (size-bs)/(bs+gap) + 1
	if end := (blocks-1)*(bs+gap) + bs; end < size && end+gap >= size {
		return 0
	}
	return blocks * bs
}
