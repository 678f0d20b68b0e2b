package selfcheck

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// A Limited is a loop device whose rate is limited in a control group of selfcheck's own.
type Limited struct {
	// Device is its path.
	Device string
	loop   *os.File
	group  *cgroup.Own
}

// NewLimited creates a loop device over file, and a group of that name that limits it to iops reads and as many writes
// per second. The caller has recorded the group; the device ends with the process. It needs root, and changes no group
// but its own: if version 2 does not give the io controller to the top groups, it returns an error.
func NewLimited(file, group string, iops int) (_ *Limited, err error) {
	l := &Limited{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if l.loop, err = loop.Attach(f); err != nil {
		return nil, err
	}
	l.Device = l.loop.Name()
	var st unix.Stat_t
	if err := unix.Stat(l.Device, &st); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Device, err)
	}
	host, err := cgroup.Open(device.Host())
	if err != nil {
		return nil, err
	}
	l.group, err = host.Make(group, hierarchy.IO)
	if err != nil {
		return nil, fmt.Errorf("no control group limits I/O here: %w", err)
	}
	// Not through a hold.Holder: the group is selfcheck's own, is in its session's record, and goes with it.
	_, err = host.Hold(l.group.Target, cgroup.Want{
		Change:  limit.Change{Set: limit.Limits{ReadIOPS: int64(iops), WriteIOPS: int64(iops)}},
		Devices: []device.Number{device.NumberOf(uint64(st.Rdev))},
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Wrap implements Wrap: it puts limited cases into the group.
func (l *Limited) Wrap(c Case, argv []string) []string {
	if !c.Limited {
		return argv
	}
	return append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, l.group.Dirs()[0]}, argv...)
}

// Close removes the group and the device.
func (l *Limited) Close() error {
	var errs []error
	if l.group != nil {
		errs = append(errs, l.group.Close())
	}
	if l.loop != nil {
		errs = append(errs, l.loop.Close())
	}
	return errors.Join(errs...)
}
