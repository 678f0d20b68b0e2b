package keeper

import (
	"errors"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/state/journal"
)

// Left lists the running containers that have limits by the records in the folder run, for when no keeper runs there. If a
// keeper was killed while it changed a limit, Held has the earlier value too. It writes nothing. The error is about records that
// can't be read; the others are listed nevertheless.
func Left(run, proc string) (list []ContainerStatus, err error) {
	s := &store{journal: journal.In(run), run: run, boot: procfs.Boot(proc)}
	entries, err := s.journal.Entries(containerKind)
	for _, e := range entries {
		r, bad := s.parse(e)
		if bad != nil {
			err = errors.Join(err, s.damaged(e, bad))
			continue
		}
		if s.passed(r) || procfs.Of(proc, r.Process.PID).Start != r.Process.Start {
			continue
		}
		c := ContainerStatus{Target: r.Name, ID: r.ID, PID: r.Process.PID, Since: e.Made}
		for _, h := range r.Held {
			c.Held = append(c.Held, h.Limit)
			if h.Prior != nil {
				h.Limit.Value = h.Prior.Text(h.Key)
				c.Held = append(c.Held, h.Limit)
			}
		}
		list = append(list, c)
	}
	return list, err
}
