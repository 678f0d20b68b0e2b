package limits

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/cgroup"
)

// machine creates control groups on this machine, and a loop device for the limits: the first limit on a disk stops the
// disk for a moment, so another's disk must not be used.
func machine(groups int) (_ *place, remove func() error, err error) {
	if os.Geteuid() != 0 {
		return nil, nil, errSkip("it needs root")
	}
	var undo []func() error
	remove = func() error {
		var errs []error
		for i := len(undo) - 1; i >= 0; i-- {
			errs = append(errs, undo[i]())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	host, err := cgroup.Open(device.Host())
	if err != nil {
		return nil, nil, err
	}
	own, err := host.Make("plimsoll-bench-limit-"+strconv.Itoa(os.Getpid()), hierarchy.IO)
	if errors.Is(err, cgroup.ErrNoController) || errors.Is(err, hierarchy.ErrNone) {
		return nil, nil, errSkip(err.Error())
	}
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, own.Close)
	g, err := own.Group(hierarchy.IO)
	if err != nil {
		return nil, nil, err
	}
	if g.Version == 2 {
		if err := os.WriteFile(filepath.Join(g.Dir, "cgroup.subtree_control"), []byte("+io"), 0); err != nil {
			return nil, nil, err
		}
	}
	for i := range groups {
		dir := filepath.Join(g.Dir, strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, nil, err
		}
		undo = append(undo, func() error { return os.Remove(dir) })
	}
	node, dev, detach, err := loop()
	if err != nil {
		return nil, nil, err
	}
	undo = append(undo, detach)
	p := &place{name: fmt.Sprintf("this machine, version %d", g.Version), host: host, device: dev, node: node, kernel: true}
	return p, remove, p.find(g.Path, groups)
}

// loop creates a loop device over an empty file.
func loop() (node string, _ device.Number, detach func() error, err error) {
	dir, err := os.MkdirTemp("", "plimsoll-bench-limit-")
	if err != nil {
		return "", device.Number{}, nil, err
	}
	image := filepath.Join(dir, "image")
	err = os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, 16<<20)
	}
	if err != nil {
		return "", device.Number{}, nil, errors.Join(err, os.RemoveAll(dir))
	}
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		return "", device.Number{}, nil, errors.Join(fmt.Errorf("losetup: %w: %s", err, strings.TrimSpace(string(out))), os.RemoveAll(dir))
	}
	name := strings.TrimSpace(string(out))
	detach = func() error {
		out, err := exec.Command("losetup", "--detach", name).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("losetup --detach %s: %w: %s", name, err, strings.TrimSpace(string(out)))
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return "", device.Number{}, nil, errors.Join(err, detach())
	}
	return name, device.NumberOf(uint64(st.Rdev)), detach, nil
}
