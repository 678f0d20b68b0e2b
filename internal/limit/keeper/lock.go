package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"

	"plimsoll/internal/state/journal"
)

// keeperID is the id of the keeper's own entry in its folder's journal.
const keeperID = "daemon"

// claim makes this the folder's only keeper until it ends or calls release. The error wraps ErrRunning if there is
// another.
func (s *store) claim() error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	err := s.journal.Put(ctx, keeperKind, keeperID, nil)
	var owned *journal.OwnedError
	if errors.As(err, &owned) {
		return fmt.Errorf("%w: process %d uses %s; see plimsoll daemon --status", ErrRunning, owned.Entry.Process().PID, s.run)
	}
	return err
}

// release gives up the folder. Another keeper's entry stays.
func (s *store) release() error { return s.journal.Remove(keeperKind, keeperID) }

// Locked reports whether the folder is this keeper's. If a clean-up removed the keeper's entry, another keeper may
// claim the folder.
func (k *Keeper) Locked() bool { return k.store.journal.Owns(keeperKind, keeperID) }

// Sweep removes the entry of a killed keeper from a folder's journal. Its limits stay, for the next keeper.
func Sweep(ctx context.Context, run string) (removed []string, err error) {
	return journal.In(run).Sweep(ctx, map[string]journal.Undo{keeperKind: func(context.Context, journal.Entry) ([]string, error) {
		return []string{"the record of a daemon that was killed"}, nil
	}})
}

// Runs reports whether a folder has a running keeper.
func Runs(run string) bool {
	j := journal.In(run)
	e, err := j.Get(keeperKind, keeperID)
	return err == nil && j.Alive(e)
}

// guard claims the folder again if the keeper's entry was removed, and records again what may have gone with it: the
// limits, and the policy in force, without which a bad policy would stop the hook's starts. If another keeper has
// claimed the folder, it returns an error: this keeper ends, and changes nothing there.
func (k *Keeper) guard() error {
	if k.Locked() {
		return nil
	}
	// This also makes the folders.
	err := os.MkdirAll(k.store.locks, 0o700)
	if err == nil {
		err = k.store.claim()
	}
	switch {
	case errors.Is(err, ErrRunning):
		return fmt.Errorf("the lock of this daemon was removed, and it ends: %w", err)
	case err != nil:
		// The next look tries again.
		if k.unclaimed != err.Error() {
			k.logf("the lock in %s was removed, and can't be created again: %v", k.opt.Run, err)
		}
		k.unclaimed = err.Error()
		return nil
	}
	k.unclaimed = ""
	k.logf("the lock in %s was removed, and has been created again", k.opt.Run)
	k.mu.Lock()
	text := k.loaded.text
	k.mu.Unlock()
	k.keepGood(text)
	k.spawn(k.applyRoot)
	k.background(func() {
		for _, e := range k.every() {
			e.mu.Lock()
			if e != k.root && len(e.held) > 0 && !e.gone {
				if err := k.store.save(e); err != nil {
					k.logf("%s: %v", e.name(), err)
				}
			}
			e.mu.Unlock()
		}
	})
	return nil
}
