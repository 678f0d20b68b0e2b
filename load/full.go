package load

// stopIfFull ends a job that is to use all space (Fill) if an I/O failed for lack of it, and reports whether it did.
// I/Os in flight still end.
func (t *thread) stopIfFull(sl *slot, err error) bool {
	if !t.run.job.Fill || sl.op != opWrite || !noRoom(err) {
		return false
	}
	t.unwritten(sl)
	t.run.stop()
	return true
}
