package load

// passBytes is after how many bytes a lane begins anew, 0 for never: what DropCache needs.
func (l *lane) passBytes(j Job) int64 {
	pass := int64(0)
	switch {
	case j.unmapped():
		// Each offset may be any: there is no end.
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

// dropDue reports whether a pass is over and the next is to begin without the page cache.
func (t *thread) dropDue() bool {
	return t.dropEvery > 0 && t.sinceDrop >= t.dropEvery
}

// drop lets go of what the thread's passes leave in the page cache. That it can be was found out before, if it
// matters (as with fio's invalidate): here nothing is lost if not.
func (t *thread) drop() {
	t.sinceDrop -= t.dropEvery
	for _, f := range t.run.files {
		f.dropCache(t.lane.base, t.lane.size)
	}
}
