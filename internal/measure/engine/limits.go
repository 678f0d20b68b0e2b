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

// An IOLimits is what a session knows of its limits on I/O. They are in force while a trial is measured (Hold):
// before it, files are laid out at full speed.
type IOLimits struct {
	Engine string
	Asked  limit.Limits
	// Container is what its control groups carry in their names; empty: Own has them.
	Container string
	Own       *cgroup.Own
	// Devices are those whose rates the daemon was given when the container was made; nil: none.
	Devices []explain.Spot
	// ID is the session's.
	ID string
}

// A Limited is a Session that may have limits on I/O.
type Limited interface {
	Session
	IOLimits() *IOLimits
}

// No is what can't be had.
func (l *IOLimits) No(keys []limit.Key, reason, fix string) error {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = string(k)
	}
	return &Unsupported{Engine: l.Engine, What: "limit " + strings.Join(names, ", "), Reason: reason, Fix: fix}
}

// Asks lists the keys of I/O that are asked for.
func (l *IOLimits) Asks() (keys []limit.Key) {
	for _, k := range limit.Keys {
		if k.IO() && l.Asked.Has(k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// Explain finds what the data of a session stands on.
func (l *IOLimits) Explain(fs device.FS, keys []limit.Key, path string) (*explain.Explanation, error) {
	if path == "" {
		return nil, l.No(keys, "the place is no folder of this machine, or is memory (tmpfs): there is no block device under it", "limit memory, or use another place")
	}
	h, err := explain.Look(fs)
	if err != nil {
		return nil, l.No(keys, "control groups can't be used: "+err.Error(), "")
	}
	e, err := h.Path(existing(path))
	if err != nil {
		return nil, fmt.Errorf("find the device under %s: %w", path, err)
	}
	if !e.Possible {
		return nil, l.No(keys, e.Why, e.Instead)
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

// RateKeys lists the keys of rates that l has.
func RateKeys(l limit.Limits) (keys []limit.Key) {
	for _, k := range limit.Keys {
		if k.Rate() && l.Has(k) {
			keys = append(keys, k)
		}
	}
	return keys
}
