package load

import (
	"errors"
	"slices"
	"syscall"
)

// A failure is the error of an I/O after which the job went on, and its time. Both are 0 if there was none.
type failure struct {
	at    int64
	errno syscall.Errno
}

func (f failure) earlier(o failure) failure {
	if f.errno == 0 || o.errno != 0 && o.at < f.at {
		return o
	}
	return f
}

// goesOn reports whether the job goes on after the error of an I/O that was seen at now. If so, it counts the failure,
// and the I/O is over.
func (t *thread) goesOn(sl *slot, err error, now int64) bool {
	r := t.run
	on := r.job.ReadErrors
	if sl.op == opWrite {
		on = r.job.WriteErrors
	}
	var errno syscall.Errno
	if len(on) == 0 || !errors.As(err, &errno) || !slices.Contains(on, int(errno)) {
		return false
	}
	t.unwritten(sl)
	if now >= r.begin.Load() && (!r.timed || now <= r.end.Load()) {
		t.acct.failed[sl.op&1]++
		t.acct.failure = t.acct.failure.earlier(failure{now, errno})
	}
	return true
}
