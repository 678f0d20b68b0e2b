package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Sweep implements Engine: machines and daemons of dead owners are killed, then their folders and disks removed.
func (v *vm) Sweep(context.Context) ([]string, error) {
	stale, err := v.journal.stale(v.Name())
	if err != nil {
		return nil, err
	}
	var done []string
	var errs []error
	alive := map[string]bool{}
	for _, l := range stale {
		for _, p := range l.Processes {
			killed, err := killOwn(p)
			if err != nil {
				// What it writes to stays, and is noted for the next sweep.
				alive[strings.TrimSuffix(l.ID, processesSuffix)] = true
				errs = append(errs, fmt.Errorf("end process %d of session %s: %w", p.PID, l.ID, err))
			}
			if killed {
				done = append(done, fmt.Sprintf("process %d of virtual machine %s", p.PID, strings.TrimSuffix(l.ID, processesSuffix)))
			}
		}
	}
	for _, l := range stale {
		if alive[strings.TrimSuffix(l.ID, processesSuffix)] {
			continue
		}
		// One whose limits held around it had a group.
		if err := removeCgroups(folderPrefix + strings.TrimSuffix(l.ID, processesSuffix)); err != nil {
			errs = append(errs, err)
			continue
		}
		removed, err := v.journal.clear(l)
		done, errs = append(done, removed...), append(errs, err)
	}
	torn, err := v.sweepCache()
	return append(done, torn...), errors.Join(append(errs, err)...)
}
