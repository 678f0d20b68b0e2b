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

// root is where the paths of what is tried begin: a group has those of the host.
func (v subject) root() string {
	if v.part.Target.PID == 0 {
		return "/"
	}
	return inroot.Of(v.part.Target.PID)
}

// folder is where the scratch folder is made, as the container names it.
func (v subject) folder() (string, error) {
	switch {
	case v.volume:
		for _, m := range v.part.Target.Mounts {
			if m.Source == v.ground.Path {
				return m.Destination, nil
			}
		}
		return "", fmt.Errorf("%s has no folder with %s", v.part.Name, v.ground.Name)
	case v.part.Target.PID == 0:
		// As the limits were looked up: from where this process is.
		return filepath.Abs(v.ground.Path)
	}
	// The same for a container's root. Its dots are resolved by the kernel, which knows its links.
	return "/" + strings.TrimLeft(v.ground.Path, "/"), nil
}

// standsOn refuses a folder, found by v's path, that is not on the device whose limit is to be tried: what is done there
// says nothing of it, and may fill another disk.
func (p *Prover) standsOn(v subject, folder *os.File) error {
	mount, err := inroot.MountOf(folder)
	if err != nil {
		return err
	}
	pid := v.part.Target.PID
	if pid == 0 {
		pid = os.Getpid()
	}
	e, err := p.Explain.Inside(folder.Name(), pid, mount)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(e.Hard, func(s explain.Spot) bool { return !s.ReadsOnly && s.Number() == v.spot.Number() }) {
		return nil
	}
	on := "on no device that takes a limit"
	for _, s := range e.Hard {
		if !s.ReadsOnly {
			on = fmt.Sprintf("on %s (%s)", s.Name, s.Number())
		}
	}
	return &refusal.Error{Act: refusal.Limited, What: clean.Line(folder.Name()), Why: fmt.Sprintf("it is %s, and the limit is for %s (%s)", on, v.spot.Name, v.spot.Number()),
		Fix: "name a folder that is on it, with --path"}
}

// scratchID tells this process's scratch folders from others'.
func scratchID() string { return fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()) }

// fits refuses where a scratch file as large as r needs would leave little in a folder, or would take too long to be written under the limits
// of what is tried. r is told how much there is.
func fits(what string, in engine.Inside, r *row.Request) error {
	free, err := inroot.Free(in.Root, in.Dir)
	if err != nil {
		return err
	}
	r.Free = max(free/2, 1)
	return errors.Join(enough(in.Dir, free, r.Room()), tooSlow(what, *r))
}

// enough refuses where so many bytes are free and need.
func enough(dir string, free, need int64) error {
	// Other programs go on writing to the file system meanwhile.
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
