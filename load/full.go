package load

// filled reports whether an I/O failed since there is no room left, in a job that is to use all of it (Fill). Then the job is over; what
// is in flight still ends.
func (t *thread) filled(sl *slot, err error) bool {
	if !t.run.job.Fill || sl.op != opWrite || !noRoom(err) {
		return false
	}
	t.unwritten(sl)
	t.run.stop()
	return true
}
