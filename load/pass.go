package load

// passBytes returns the number of bytes after which a lane begins a new pass, for DropCache; 0 for never.
func (l *lane) passBytes(j Job) int64 {
	pass := int64(0)
	switch {
	case j.unmapped():
		// Offsets are arbitrary: no pass ends.
	case j.split():
		pass = l.bytesOfAll(j)
	default:
		pass = times(l.blocksOfAll(j), j.BS)
	}
	if j.IOSize > 0 && (pass == 0 || j.IOSize < pass) {
		pass = j.IOSize
	}
	return pass
}

// dropDue reports whether a pass is over and the next must begin without the page cache.
func (t *thread) dropDue() bool {
	return t.dropEvery > 0 && t.sinceDrop >= t.dropEvery
}

// drop drops what the thread's passes left in the page cache. Where a failure would matter (as with fio's invalidate),
// the job was checked before; here it is harmless.
func (t *thread) drop() {
	t.sinceDrop -= t.dropEvery
	for _, f := range t.run.files {
		f.dropCache(t.lane.base, t.lane.size)
	}
}
