package vm

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/measure/engine"
)

// Sweep implements Engine: machines and daemons of dead owners are killed, then their folders and disks removed.
func (v *Engine) Sweep(ctx context.Context) ([]string, error) {
	done, err := v.journal.SweepSessions(ctx, func(_ context.Context, id string, s engine.SessionRecord) (did []string, err error) {
		for _, p := range s.Processes {
			killed, err := killOwn(p)
			if err != nil {
				// The files that it writes to stay, and are noted for the next sweep.
				return did, fmt.Errorf("end process %d of session %s: %w", p.PID, id, err)
			}
			if killed {
				did = append(did, fmt.Sprintf("process %d of virtual machine %s", p.PID, id))
			}
		}
		// A session with limits around it had a group.
		return did, engine.RemoveGroups(engine.FolderPrefix + id)
	})
	torn, cerr := v.sweepCache()
	return append(done, torn...), errors.Join(err, cerr)
}
