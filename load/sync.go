package load

import (
	"errors"
	"syscall"
)

// syncDue reports whether it is time to sync: enough was written, or something was read after a sync. The writes in
// flight are awaited first, so that the sync covers them.
func (t *thread) syncDue() bool {
	return t.run.syncEvery > 0 && (t.sinceSync >= t.run.syncEvery || t.readSince)
}

// sync syncs the files and counts the sync. The thread has no I/O in flight.
func (t *thread) sync() error {
	r := t.run
	t.sinceSync, t.readSince, t.synced = 0, false, true
	err := t.doSync(r.job.FDataSync > 0)
	if err == nil && r.OnSync != nil {
		r.OnSync(t.number, int64(t.seq&(1<<40-1)))
	}
	return err
}

func (t *thread) doSync(dataOnly bool) error {
	r := t.run
	if len(r.files) == 0 {
		return nil
	}
	t0 := r.clk.now()
	t.syncing = t0
	for i, f := range r.files {
		t.waits(true)
		err := f.sync(dataOnly)
		t.waits(false)
		if err == nil {
			continue
		}
		name := "fsync"
		if dataOnly {
			name = "fdatasync"
		}
		return &IOError{Path: r.job.path(i), Op: name, Err: err}
	}
	now := r.clk.now()
	if now >= r.last.Load() {
		r.draining.Lock() // As in reapAt.
		defer r.draining.Unlock()
	}
	t.turn()
	t.syncing = 0
	sl := slot{op: opSync, start: t0, state: countedIO}
	switch {
	case now < r.begin.Load():
	case r.timed && now > r.end.Load():
		t.overrun(&sl, now, false)
	default:
		t.acct.lat[opSync].Record(now - t0)
		if t.round > 0 {
			t.cross(&sl, now-t0)
		}
	}
	return nil
}

// lastly does end_fsync and end_close. The last thread of the job to arrive does them, so that they cover the writes of
// all.
func (t *thread) lastly() error {
	j := &t.run.job
	if !j.EndFsync && !j.EndClose || t.run.left.Add(-1) > 0 {
		return nil
	}
	if j.EndFsync {
		if err := t.doSync(j.EndDataOnly); err != nil {
			return err
		}
	}
	if j.EndClose {
		return t.closing()
	}
	return nil
}

// closing makes the file system do the work of a program's close.
func (t *thread) closing() error {
	for i, f := range t.run.files {
		t.waits(true)
		err := f.flush()
		t.waits(false)
		if err != nil {
			return &IOError{Path: t.run.job.path(i), Op: "close", Err: err}
		}
	}
	t.turn()
	return nil
}

// Sync waits until all written data is on the storage. Call it after Start; it is not measured. The error is an
// *IOError: if the kernel failed to write back buffered data, the error shows here and nowhere else. A file with
// nothing to sync, such as a character device, is no error.
func (r *Run) Sync() error {
	r.syncing.Lock()
	defer r.syncing.Unlock()
	for i, f := range r.files {
		if err := f.sync(false); err != nil && !errors.Is(err, syscall.EINVAL) {
			return &IOError{Path: r.job.path(i), Op: "fsync", Err: err}
		}
	}
	return nil
}
