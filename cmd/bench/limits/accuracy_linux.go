package limits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/measure/workerbin"
)

// A memoryBed is a group, and an ext4 on a loop device whose image is in memory: a disk that is faster than any of the
// limits.
type memoryBed struct {
	host  *cgroup.Host
	own   *cgroup.Own
	dir   string
	disk  device.Device
	undos []func() error
}

// bedSize is the size of a disk in bytes: verify's largest file and ext4's own needs.
const bedSize = 640 << 20

// newMemoryBed creates a memoryBed. Close must be called.
func newMemoryBed(i int) (_ bed, err error) {
	if os.Geteuid() != 0 {
		return nil, errSkip("it needs root")
	}
	b := &memoryBed{}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	if b.host, err = cgroup.Open(device.Host()); err != nil {
		return nil, err
	}
	b.own, err = b.host.Make(fmt.Sprintf("plimsoll-bench-limit-%d-%d", os.Getpid(), i), hierarchy.IO)
	if errors.Is(err, cgroup.ErrNoController) || errors.Is(err, hierarchy.ErrNone) {
		return nil, errSkip(err.Error())
	}
	if err != nil {
		return nil, err
	}
	b.undos = append(b.undos, b.own.Close)
	if b.dir, err = os.MkdirTemp(memory(), "plimsoll-bench-limit-"); err != nil {
		return nil, err
	}
	b.undos = append(b.undos, func() error { return os.RemoveAll(b.dir) })
	return b, b.mount()
}

// mount creates and mounts the disk.
func (b *memoryBed) mount() error {
	image, on := filepath.Join(b.dir, "image"), filepath.Join(b.dir, "disk")
	if err := errors.Join(os.Mkdir(on, 0o755), os.WriteFile(image, nil, 0o600), os.Truncate(image, bedSize)); err != nil {
		return err
	}
	if _, err := command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image); err != nil {
		return err
	}
	loop, err := command("losetup", "--find", "--show", image)
	if err != nil {
		return err
	}
	b.undos = append(b.undos, func() error { _, err := command("losetup", "--detach", loop); return err })
	if err := unix.Mount(loop, on, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", loop, err)
	}
	b.undos = append(b.undos, func() error { return unmount(on) })
	stack, err := device.Host().Of(loop)
	if err == nil && stack.Device == nil {
		err = fmt.Errorf("%s: %s", loop, stack.Why)
	}
	if err != nil {
		return err
	}
	b.disk = *stack.Device
	return nil
}

// unmount waits for processes that still have the disk open for a moment, such as one that has just ended.
func unmount(on string) error {
	err := unix.Unmount(on, 0)
	for end := time.Now().Add(10 * time.Second); errors.Is(err, unix.EBUSY) && time.Now().Before(end); err = unix.Unmount(on, 0) {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", on, err)
	}
	return nil
}

// command runs a program and returns its output.
func command(argv ...string) (string, error) {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errSkip("it needs " + argv[0])
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", argv[0], err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// try implements bed.
func (b *memoryBed) try(ctx context.Context, r rung, t time.Duration) (_ row.Row, err error) {
	set := map[limit.Key]limit.Limits{
		limit.ReadBPS: {ReadBPS: r.asked}, limit.WriteBPS: {WriteBPS: r.asked}, limit.ReadIOPS: {ReadIOPS: r.asked}, limit.WriteIOPS: {WriteIOPS: r.asked},
	}[r.key]
	if _, err := b.host.Hold(b.own.Target, cgroup.Want{Change: limit.Change{Set: set}, Devices: []device.Number{b.disk.Number}}); err != nil {
		return row.Row{}, err
	}
	inside := engine.Inside{ID: strconv.Itoa(os.Getpid()), Root: filepath.Join(b.dir, "disk"), Dir: "/", Groups: b.own.Dirs()}
	session, err := engine.OpenInside(ctx, filepath.Join(b.dir, "state"), workerbin.Bytes, inside)
	if err != nil {
		return row.Row{}, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, session.Close(closing))
	}()
	a, err := agent.Open(ctx, session)
	if err != nil {
		return row.Row{}, err
	}
	rows, err := row.Run(ctx, row.Request{
		Agent: a, Device: b.disk, FS: device.Host(), Asked: map[limit.Key]int64{r.key: r.asked}, Modes: []row.Mode{row.Direct}, Time: t,
	})
	if err != nil {
		return row.Row{}, err
	}
	return rows[0], nil
}

// Close removes everything, in reverse order.
func (b *memoryBed) Close() error {
	var errs []error
	for i := len(b.undos) - 1; i >= 0; i-- {
		errs = append(errs, b.undos[i]())
	}
	b.undos = nil
	return errors.Join(errs...)
}
