//go:build !linux

package load

import "fmt"

func takePriority(j Job) (undo func(), err error) {
	if j.Priority == 0 && len(j.ReadPriorities)+len(j.WritePriorities) == 0 {
		return nil, nil
	}
	return nil, &OptionError{"prio", fmt.Sprintf("%d/%d", j.Priority.Class(), j.Priority.Level()), "only Linux has priorities of I/Os here; leave it out"}
}
