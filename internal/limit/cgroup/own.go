package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/host/hierarchy"
)

// An Own is a group of Plimsoll's own, at the top of each hierarchy that it needs, for probes and for processes
// outside containers. Close must be called once.
type Own struct {
	*Target
	host *Host
	dirs []string
}

// prefix begins the names of Plimsoll's own groups.
const prefix = "plimsoll-"

// Make creates a group for each controller. The name must begin with "plimsoll-" and be unique among living groups.
// No other group is changed: if version 2's root doesn't enable a controller, the error wraps ErrNoController.
func (h *Host) Make(name string, cs ...hierarchy.Controller) (_ *Own, err error) {
	if !strings.HasPrefix(name, prefix) || name != filepath.Base(name) {
		return nil, fmt.Errorf("%q is not a name for a group of Plimsoll's: it must begin with %s", name, prefix)
	}
	o := &Own{Target: newTarget("group " + name), host: h}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	for _, c := range cs {
		root, err := h.tree.Root(c)
		if err != nil {
			return nil, err
		}
		g := *root
		g.Dir, g.Path = filepath.Join(root.Dir, name), strings.TrimSuffix(root.Path, "/")+"/"+name
		if !slices.Contains(o.dirs, g.Dir) {
			if err := os.Mkdir(g.Dir, 0o755); err != nil {
				return nil, fmt.Errorf("make group: %w", err)
			}
			o.dirs = append(o.dirs, g.Dir)
		}
		if !root.ForChildren() {
			// missing examines the new group.
			return nil, h.missing(&g, g.Name()+".*", fs.ErrNotExist)
		}
		o.put(c, &g, nil)
	}
	return o, nil
}

// Add moves a process into the groups.
func (o *Own) Add(pid int) error {
	for _, dir := range o.dirs {
		if err := o.host.io.write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("move process %d: %w", pid, err)
		}
	}
	return nil
}

// Dirs are the folders of the groups.
func (o *Own) Dirs() []string { return slices.Clone(o.dirs) }

// Close removes the groups. It waits for a process that has just ended, which may still be in one for a moment.
func (o *Own) Close() error {
	var errs []error
	for _, dir := range o.dirs {
		err := os.Remove(dir)
		for end := time.Now().Add(5 * time.Second); errors.Is(err, syscall.EBUSY) && time.Now().Before(end); err = os.Remove(dir) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove group: %w", err))
		}
	}
	o.dirs = nil
	return errors.Join(errs...)
}
