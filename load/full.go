package load

// filled reports whether an I/O failed because there is no space left, in a job that is to use all of it (Fill). The
// job is then over; I/Os in flight still end.
func (t *thread) filled(sl *slot, err error) bool {
	if !t.run.job.Fill || sl.op != opWrite || !noRoom(err) {
		return false
	}
	t.unwritten(sl)
	t.run.stop()
	return true
}
