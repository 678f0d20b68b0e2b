package verify

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/host/inroot"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// root returns the root of a subject's paths: for a group, that of the host.
func (v subject) root() string {
	if v.groupSet.Target.PID == 0 {
		return "/"
	}
	return inroot.Of(v.groupSet.Target.PID)
}

// folder returns where to create the scratch folder, as a path in the container.
func (v subject) folder() (string, error) {
	switch {
	case v.volume:
		for _, m := range v.groupSet.Target.Mounts {
			if m.Source == v.place.Path {
				return m.Destination, nil
			}
		}
		return "", fmt.Errorf("%s has no folder with %s", v.groupSet.Name, v.place.Name)
	case v.groupSet.Target.PID == 0:
		// Relative to this process's folder, as when the limits were looked up.
		return filepath.Abs(v.place.Path)
	}
	// The same for a container's root. The kernel resolves dots, because it knows the links.
	return "/" + strings.TrimLeft(v.place.Path, "/"), nil
}

// standsOn refuses a folder, found by v's path, that is not on the device whose limit is to be tested: I/O in it would
// say nothing about the limit, and might fill another disk.
func (p *Verifier) standsOn(v subject, folder *os.File) error {
	mount, err := inroot.MountOf(folder)
	if err != nil {
		return err
	}
	pid := v.groupSet.Target.PID
	if pid == 0 {
		pid = os.Getpid()
	}
	e, err := p.Explain.Inside(folder.Name(), pid, mount)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(e.Hard, func(s explain.Spot) bool { return !s.ReadsOnly && s.Number == v.spot.Number }) {
		return nil
	}
	on := "on no device that takes a limit"
	for _, s := range e.Hard {
		if !s.ReadsOnly {
			on = fmt.Sprintf("on %s (%s)", s.Name, s.Number)
		}
	}
	return &refusal.Error{Act: refusal.Limited, What: clean.Line(folder.Name()), Why: fmt.Sprintf("it is %s, and the limit is for %s (%s)", on, v.spot.Name, v.spot.Number),
		Fix: "name a folder that is on it, with --path"}
}

// scratchID makes this process's scratch folders unique.
func scratchID() string { return fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()) }

// fits refuses a folder in which a scratch file of the size that r needs would leave little space, or would take too
// long to write under the limits. It sets the free space in r.
func fits(what string, in engine.Inside, r *row.Request) error {
	free, err := inroot.Free(in.Root, in.Dir)
	if err != nil {
		return err
	}
	r.Free = max(free/2, 1)
	return errors.Join(enough(in.Dir, free, r.Room()), tooSlow(what, *r))
}

// enough refuses if free is too little for need bytes.
func enough(dir string, free, need int64) error {
	// Other programs go on writing to the file system in the meantime.
	if free < 2*need {
		return &refusal.Error{Act: refusal.Tried, What: dir, Why: fmt.Sprintf("the scratch file takes %s, and twice that must be free, because others go on writing: %s are", size.Bytes(need), size.Bytes(free)),
			Fix: "free some, name another --path, or take less --time"}
	}
	return nil
}

// tooSlow refuses limits on writes under which the scratch file alone would take too long.
func tooSlow(what string, r row.Request) error {
	if t := r.LayOut(); t > row.MostLayOut {
		return &refusal.Error{Act: refusal.Tried, What: what, Why: fmt.Sprintf("under its limit on writes the scratch file of %s takes %s to be written", size.Bytes(r.Room()), size.Duration(t)),
			Fix: "try it with a greater limit on writes"}
	}
	return nil
}
