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
	"plimsoll/internal/text/refusal"
)

// An IOLimits holds a session's limits on I/O. They are in force while a trial is measured (Hold); files are laid out
// before that, at full speed.
type IOLimits struct {
	Engine string
	Asked  limit.Limits
	// Container is a part of the names of the session's control groups; empty: Own has them.
	Container string
	Own       *cgroup.Own
	// Devices are those whose limits the daemon set when it made the container; nil: none.
	Devices []explain.Spot
	// ID is the session's.
	ID string
}

// A Limited is a Session that may have limits on I/O.
type Limited interface {
	Session
	IOLimits() *IOLimits
}

// No returns a *refusal.Error for the keys.
func (l *IOLimits) No(keys []limit.Key, reason, fix string) error {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = string(k)
	}
	return &refusal.Error{Engine: l.Engine, What: "limit " + strings.Join(names, ", "), Why: reason, Fix: fix}
}

// Explain finds the devices below the data of a session.
func (l *IOLimits) Explain(fs device.FS, keys []limit.Key, path string) (*explain.Explanation, error) {
	if path == "" {
		return nil, l.No(keys, "the place is not a folder of this machine, or is memory (tmpfs): there is no block device under it", "limit memory, or use another place")
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

// existing is path, or its nearest parent that exists: an overlay makes a layer's folder at the first write to it.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		path = filepath.Dir(path)
	}
	return path
}
