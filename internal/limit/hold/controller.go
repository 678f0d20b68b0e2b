package hold

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/limit/cgroup"
)

// systemd gives units no more controllers than their properties ask for, on most machines not that of I/O: it gives one when
// the property is set, and takes it away when the last is removed, both a moment after it has answered. So the files of a unit's
// group come and go while it is changed.

// controllerPatience is how long systemd may take for that. It is milliseconds where the machine isn't busy.
const controllerPatience = 10 * time.Second

// controllerPoll is how often the groups are looked at meanwhile.
const controllerPoll = 10 * time.Millisecond

// awaited is the diff of a unit whose group lacks a controller, if that is what the error says: nothing can be
// compared before systemd was told.
func awaited(err error, d *Done) *cgroup.Diff {
	if d.GroupSet.Unit == "" || !errors.Is(err, cgroup.ErrNotGiven) {
		return nil
	}
	why := err.Error()
	var f *cgroup.Fault
	if errors.As(err, &f) {
		why = f.Why
	}
	return &cgroup.Diff{Notes: []string{why + "; systemd gives it as soon as the properties are set"}}
}

// withController calls write, which brings groups to what they shall have. lacks is the error of a controller that they
// lack as yet. A unit's properties have been set before: systemd is waited for, and what is to be written is planned anew, as long
// as files come and go. Where it doesn't give a controller, as with DisableControllers=, the error says which.
func (h *Holder) withController(ctx context.Context, d *Done, lacks error, write func() error) error {
	if lacks == nil {
		lacks = write()
	}
	if d.GroupSet.Unit == "" || !errors.Is(lacks, cgroup.ErrNotGiven) {
		return lacks
	}
	ctx, cancel := context.WithTimeout(ctx, controllerPatience)
	defer cancel()
	tick := time.NewTicker(controllerPoll)
	defer tick.Stop()
	for {
		diff, err := h.Groups.Plan(d.GroupSet.Groups, d.want)
		if err == nil {
			d.Diff, d.lacks = diff, nil
			err = write()
		}
		if !errors.Is(err, cgroup.ErrNotGiven) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
