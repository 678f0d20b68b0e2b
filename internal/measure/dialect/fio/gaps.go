package fio

// gapsEnd is the number of bytes after which a sequential pattern with gaps ends in a file of size bytes, 0 if it
// wraps around. As in fio it wraps around only if a gap reaches the end of the file. If a block ends exactly there,
// or no whole block follows a gap, the pass is the last one.
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
