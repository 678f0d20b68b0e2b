package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
)

// An ioLimits is what a session knows of its limits on I/O. They are in force while a trial is measured (Hold):
// before it, files are laid out at full speed.
type ioLimits struct {
	engine string
	asked  limit.Limits
	// container is what its control groups carry in their names; empty: own has them.
	container string
	own       *cgroup.Own
	// devices are those whose rates the daemon was given when the container was made; nil: none.
	devices []explain.Spot
	// journal and id are for what a sweep has to undo.
	journal journal
	id      string
}

// A limited is a Session that may have limits on I/O.
type limited interface {
	Session
	ioLimits() *ioLimits
}

// no is what can't be had.
func (l *ioLimits) no(keys []limit.Key, reason, fix string) error {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = string(k)
	}
	return &Unsupported{Engine: l.engine, What: "limit " + strings.Join(names, ", "), Reason: reason, Fix: fix}
}

// asks lists the keys of I/O that are asked for.
func (l *ioLimits) asks() (keys []limit.Key) {
	for _, k := range limit.Keys {
		if k.IO() && l.asked.Has(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// explain finds what the data of a session stands on.
func (l *ioLimits) explain(fs device.FS, keys []limit.Key, path string) (*explain.Explanation, error) {
	if path == "" {
		return nil, l.no(keys, "the place is no folder of this machine, or is memory (tmpfs): there is no block device under it", "limit memory, or use another place")
	}
	h, err := explain.Look(fs)
	if err != nil {
		return nil, l.no(keys, "control groups can't be used: "+err.Error(), "")
	}
	e, err := h.Path(existing(path))
	if err != nil {
		return nil, fmt.Errorf("find the device under %s: %w", path, err)
	}
	if !e.Possible {
		return nil, l.no(keys, e.Why, e.Instead)
	}
	return e, nil
}

// existing is the nearest folder of a path that is there: an overlay makes a layer's folder when it is first
// written to.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		path = filepath.Dir(path)
	}
	return path
}

// rateKeys lists the keys of rates that l has.
func rateKeys(l limit.Limits) (keys []limit.Key) {
	for _, k := range limit.Keys {
		if k.Rate() && l.Has(k) {
			keys = append(keys, k)
		}
	}
	return keys
}
