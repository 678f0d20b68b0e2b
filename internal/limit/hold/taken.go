package hold

import (
	"fmt"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
)

// taken returns the error that refuses w's device to anyone but its owner.
func (w DeviceLimit) taken() error { return taken(w.Disk, "for "+w.For, w.Limits, w.fix()) }

// taken returns the error that refuses a device-wide limit because the disk already has one; whose names its owner.
func taken(disk, whose string, has limit.Limits, fix string) error {
	return &refusal.Error{What: "device-wide limit", Why: fmt.Sprintf("%s already has a limit in the root group, %s (%s)", disk, whose, has), Fix: fix}
}

// fix returns advice on how to end w.
func (w DeviceLimit) fix() string {
	switch {
	case w.By != nil && w.Former && !w.Ended:
		return fmt.Sprintf("process %d, which still runs, set it %s; once it has ended, %s removes it", w.By.PID, w.When(), w.cleared())
	case w.By != nil && !w.Ended:
		return fmt.Sprintf("process %d removes it at its end", w.By.PID)
	case w.Volume != "" && !w.Former:
		return "plimsoll volume update changes it, with -o iops.max=N or -o bandwidth.max=N"
	case w.Daemon != "":
		return fmt.Sprintf("change the policy of that daemon, or, when it has ended, remove it: %s", w.cleared())
	}
	return w.cleared() + " removes it"
}

// cleared returns the command that removes w.
func (w DeviceLimit) cleared() string {
	if _, err := target.Parse(w.For); err != nil || w.Volume != "" || w.By != nil || w.Daemon != "" {
		return "plimsoll limit clear --device-wide --device " + clean.Shell(device.NodePath(w.Disk))
	}
	return "plimsoll limit clear " + clean.Shell(w.For)
}

// When says what has happened to the device that w was set on, or "" if it is still there unchanged.
func (w DeviceLimit) When() string {
	switch {
	case w.Gone:
		return "on a device that has gone"
	case w.Former:
		return "when another device had that number"
	}
	return ""
}

// Still says that the kernel still has limits whose device has changed, and which command removes them. flags are
// additional options for that command.
func (w DeviceLimit) Still(flags string) string {
	s := fmt.Sprintf("the root group still has %s, set for %s %s; ", w, w.For, w.When())
	if w.Gone {
		s += "the next device with that number gets this limit; "
	}
	return s + w.cleared() + flags + " removes it"
}

// vacant reports whether the device that has a number now is empty, such as a loop device without a file.
func vacant(f device.FS, n device.Number) bool {
	return device.Text(f.Sys, "dev", "block", n.String(), "size") == "0"
}

// Free refuses a disk if another owner or program has set limits for it in the root group. Where such limits don't
// exist, as with version 2, the error wraps cgroup.ErrUnsupported.
func (w *DeviceLimits) Free(d explain.Spot) error {
	if _, err := w.groups.Device(); err != nil {
		return err
	}
	has, err := w.look()
	if err == nil {
		err = has.damaged.of(d.Number)
	}
	if err != nil {
		return err
	}
	_, now, err := w.now()
	if err != nil {
		return err
	}
	n := d.Number
	return free(on(has.all, n), now[n], d.Name)
}

// free is Free with the disk's record, which may be nil, and the kernel's limits. Limits that a former owner left don't
// count.
func free(recorded *DeviceLimit, has limit.Limits, disk string) error {
	if recorded != nil && !recorded.left() {
		return recorded.taken()
	}
	if recorded != nil {
		keys, _ := recorded.removable(has)
		has = has.Without(keys...)
	}
	if has.IsZero() {
		return nil
	}
	return taken(disk, "set by another program", has, "remove it: plimsoll limit clear TARGET --device-wide --device "+clean.Shell(device.NodePath(disk)))
}
