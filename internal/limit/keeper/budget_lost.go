package keeper

import (
	"fmt"
	"maps"
	"slices"
)

// lostBudgets are faults for records of shared budgets that can't be read: an earlier keeper gave a group limits, and
// they are not known. A rule that limits the group again rewrites the record; otherwise the file stays until a user
// has looked at it.
func (k *Keeper) lostBudgets() []Fault {
	if k.plans {
		return nil
	}
	_, unread := k.store.groups()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.budgets {
		// The entry itself reports the keeper's own state; its record may still have to be written.
		delete(unread, k.store.journal.Path(e.entryID()))
	}
	var faults []Fault
	for _, f := range slices.Sorted(maps.Keys(unread)) {
		err := fmt.Errorf("the record of a shared budget can't be read: %s: %w; the group above its containers may still have a limit (io.max, cpu.max, memory.max): remove the limit there, then this file", f, unread[f])
		faults = append(faults, Fault{Text: err.Error(), Err: err})
	}
	return faults
}

// tellLost logs each of these faults once.
func (k *Keeper) tellLost() {
	for _, f := range k.lostBudgets() {
		k.logOnce(f.Text, "%s", f)
	}
}
