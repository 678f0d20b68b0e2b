package workload

import (
	"context"
	"fmt"

	"plimsoll/load"
)

// settle waits, outside of the window, until what was written to the page cache is on the
// storage. A buffered write that can't be written back is told to nobody but who syncs the same
// descriptor (fsync(2), "EIO"): it would count as done, though it is lost. An
// interrupt doesn't wait for it.
func settle(ctx context.Context, run *load.Run) error {
	if j := run.Job(); !j.Writes() || j.Direct {
		return nil
	}
	synced := make(chan error, 1)
	go func() { synced <- run.Sync() }()
	select {
	case err := <-synced:
		if err != nil {
			return fmt.Errorf("buffered writes that were counted did not reach the storage: %w", err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
