package runs

import (
	"errors"
	"os"
	"syscall"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/usage"
)

// CheckTargets checks the host paths of a plan before anything is written. A folder must exist. A block device, or a
// file with data in it, is refused unless allowed is exactly its path.
func CheckTargets(p *plan.Plan, allowed string) error {
	used, measured := false, map[string]bool{}
	for _, c := range p.Cells() {
		measured[c.Place], measured[c.Source] = true, true
	}
	for _, s := range p.Places {
		if !measured[s.Name] {
			continue // It is excluded, or no engine of the plan has it.
		}
		if s.Path == "" || s.Kind != place.Dir && s.Kind != place.Bind {
			continue
		}
		st, err := os.Stat(s.Path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return usage.Errorf("place %s: %s does not exist: make the folder first", s.Name, s.Path)
		case err != nil:
			return usage.Errorf("place %s: %w", s.Name, err)
		case st.IsDir():
			// It isn't known yet whether an engine that binds the folder works for this user: a daemon may write where
			// the user can't. But no engine can write to a read-only file system, and each trial creates its own folder
			// there.
			if err := writable(s.Path); err != nil && (s.Kind == place.Dir || errors.Is(err, syscall.EROFS)) {
				return usage.Errorf("place %s: %w: name another folder, or run as a user with write access to it", s.Name, err)
			}
			continue
		}
		if s.Kind == place.Bind {
			return usage.Errorf("place %s: %s is not a folder, and only a folder can be mounted into a container", s.Name, s.Path)
		}
		what := ""
		switch {
		case st.Mode()&os.ModeDevice != 0 && st.Mode()&os.ModeCharDevice == 0:
			what = "a block device"
		case st.Mode().IsRegular() && st.Size() > 0:
			what = "a file with data in it"
		case st.Mode().IsRegular():
			return usage.Errorf("place %s: %s is an empty file: name the folder to work in", s.Name, s.Path)
		default:
			return usage.Errorf("place %s: %s is neither a folder, a file nor a block device", s.Name, s.Path)
		}
		if !workload.Allowed(s.Path, []string{allowed}) {
			return usage.Errorf("place %s: %s is %s, and its data would be lost: repeat its path with --destructive %s to allow that", s.Name, clean.Name(s.Path), what, clean.Shell(s.Path))
		}
		if err := device.NotInUse(s.Path); err != nil {
			return usage.Errorf("place %s: %w", s.Name, err)
		}
		used = true
	}
	if allowed != "" && !used {
		return usage.Errorf("--destructive %s: no place of the plan is that block device or file", allowed)
	}
	return nil
}
