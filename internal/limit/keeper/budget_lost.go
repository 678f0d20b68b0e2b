package keeper

import (
	"fmt"
	"maps"
	"slices"
)

// lostBudgets are faults of notes of what containers have together, which can't be read: a keeper before had given a group a limit, and nobody
// knows which. A rule that holds the group anew writes its note anew; otherwise the file stays until a user has looked.
func (k *Keeper) lostBudgets() []Fault {
	if k.plans {
		return nil
	}
	_, unread := k.store.groups()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.budgets {
		// This one's own state tells, and who says that no rule wants it may have to write it still.
		delete(unread, k.store.journal.Path(e.entryID()))
	}
	var faults []Fault
	for _, f := range slices.Sorted(maps.Keys(unread)) {
		err := fmt.Errorf("a budget that containers shared isn't known: %s: %w; the group above them may still have a limit (io.max, cpu.max, memory.max): remove it there, then this file", f, unread[f])
		faults = append(faults, Fault{Text: err.Error(), Err: err})
	}
	return faults
}

// tellLost logs those faults, each once.
func (k *Keeper) tellLost() {
	for _, f := range k.lostBudgets() {
		k.mu.Lock()
		told := slices.Contains(k.lostTold, f.Text)
		if !told {
			k.lostTold = append(k.lostTold, f.Text)
		}
		k.mu.Unlock()
		if !told {
			k.logf("%s", f)
		}
	}
}
