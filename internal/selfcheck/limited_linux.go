package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Limited is a loop device whose readers and writers are held to a rate, in a control group
// of selfcheck's own.
type Limited struct {
	// Device is its path.
	Device string
	group  string
}

// Roots of the control groups: version 1 of the block controller, or version 2.
var (
	rootV1 = "/sys/fs/cgroup/blkio"
	rootV2 = "/sys/fs/cgroup"
)

// NewLimited makes a loop device over file and a group in which it carries iops reads and as many writes a
// second. It needs root, and changes no group but its own: where version 2 does not hand the io
// controller to groups at the top, it is an error.
func NewLimited(ctx context.Context, file string, iops int) (_ *Limited, err error) {
	l := &Limited{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	out, err := exec.CommandContext(ctx, "losetup", "--direct-io=on", "--find", "--show", file).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("losetup: %w: %s", err, strings.TrimSpace(string(out)))
	}
	l.Device = strings.TrimSpace(string(out))
	var st unix.Stat_t
	if err := unix.Stat(l.Device, &st); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Device, err)
	}
	dev := fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	name := fmt.Sprintf("plimsoll-selfcheck-%d", os.Getpid())
	limits := map[string]string{
		"blkio.throttle.read_iops_device": fmt.Sprintf("%s %d", dev, iops), "blkio.throttle.write_iops_device": fmt.Sprintf("%s %d", dev, iops),
	}
	root := rootV1
	if _, err := os.Stat(filepath.Join(rootV1, "blkio.throttle.read_iops_device")); err != nil {
		root, limits = rootV2, map[string]string{"io.max": fmt.Sprintf("%s riops=%d wiops=%d", dev, iops, iops)}
		if b, err := os.ReadFile(filepath.Join(rootV2, "cgroup.subtree_control")); err != nil || !strings.Contains(" "+strings.TrimSpace(string(b))+" ", " io ") {
			return nil, errors.New("no control group limits I/O here: version 1 has no blkio, and version 2 does not hand out io at its top")
		}
	}
	l.group = filepath.Join(root, name)
	if err := os.Mkdir(l.group, 0o755); err != nil {
		l.group = ""
		return nil, err
	}
	for file, text := range limits {
		if err := os.WriteFile(filepath.Join(l.group, file), []byte(text), 0); err != nil {
			return nil, fmt.Errorf("limit: %w", err)
		}
	}
	return l, nil
}

// Wrap is a Wrap that puts limited cases into the group.
func (l *Limited) Wrap(c Case, argv []string) []string {
	if !c.Limited {
		return argv
	}
	return append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, l.group}, argv...)
}

// Close removes the group and the device.
func (l *Limited) Close() error {
	var errs []error
	if l.group != "" {
		// A process that has ended may still be in the group for a moment.
		err := os.Remove(l.group)
		for end := time.Now().Add(5 * time.Second); errors.Is(err, unix.EBUSY) && time.Now().Before(end); err = os.Remove(l.group) {
			time.Sleep(20 * time.Millisecond)
		}
		errs = append(errs, err)
	}
	if l.Device != "" {
		if out, err := exec.Command("losetup", "--detach", l.Device).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("losetup --detach %s: %w: %s", l.Device, err, strings.TrimSpace(string(out))))
		}
	}
	return errors.Join(errs...)
}
