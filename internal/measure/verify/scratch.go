package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/inroot"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
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
