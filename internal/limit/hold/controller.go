package hold

import (
	"context"
	"errors"
	"time"

	"plimsoll/internal/limit/cgroup"
)

// systemd gives a unit only the controllers that its properties need, on most machines not the I/O controller. It adds
// a controller when the property is set, and removes it with the last such property, in both cases a moment after it
// has answered. So the files of a unit's group come and go while the unit is changed.

// controllerPatience is the maximum time that systemd may take for that. On a machine that isn't busy it takes
// milliseconds.
const controllerPatience = 10 * time.Second

// controllerPoll is the interval at which the groups are checked in the meantime.
const controllerPoll = 10 * time.Millisecond

// awaited returns the diff of a unit whose group lacks a controller, if that is what err says. Nothing can be compared
// before systemd gives the group its controller.
func awaited(err error, d *Done) *cgroup.Diff {
	if d.GroupSet.Unit == "" || !errors.Is(err, cgroup.ErrNoController) {
		return nil
	}
	why := err.Error()
	var f *cgroup.Fault
	if errors.As(err, &f) {
		why = f.Why
	}
	return &cgroup.Diff{Notes: []string{why + "; systemd gives it as soon as the properties are set"}}
}

// withController calls write, which sets groups to their planned state. lacks is the error of a controller that they
// don't have yet. The unit's properties are already set, so withController waits for systemd, and plans the writes
// again as long as files come and go. If systemd does not provide a controller, as with DisableControllers=, the error
// names it.
func (h *Holder) withController(ctx context.Context, d *Done, lacks error, write func() error) error {
	if lacks == nil {
		lacks = write()
	}
	if d.GroupSet.Unit == "" || !errors.Is(lacks, cgroup.ErrNoController) {
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
		if !errors.Is(err, cgroup.ErrNoController) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}
