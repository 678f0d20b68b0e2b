package keeper

import (
	"context"
	"slices"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
)

// plimsoll limit set and plimsoll run also set limits in the root group, and note their owners. If the keeper overrides such a
// limit, it is lent to the keeper: the keeper restores it at the end, but only while its note exists. A limit that was cleared
// meanwhile must not come back.

// notesWait is how long the keeper waits for other plimsolls that change the root group. Limits that it can't remove by then are
// tried again later, so that it can check all other limits in between.
const notesWait = 2 * time.Second

// notes calls f with the notes on the root group and locks them meanwhile.
func (k *Keeper) notes(f func([]hold.Wide) error) error {
	if k.opt.Notes == nil {
		return f(nil)
	}
	ctx, cancel := context.WithTimeout(context.Background(), notesWait)
	defer cancel()
	return k.opt.Notes.While(ctx, f)
}

// lent reports whether the limit that h replaced still has a note, so that the keeper has to restore it.
func lent(notes []hold.Wide, h *Held) bool {
	d, ok := number(h.Device)
	return ok && h.was.Has(h.Key) && slices.ContainsFunc(notes, func(n hold.Wide) bool {
		return n.Device == d && !n.Former && n.Limits.Text(h.Key) == h.was.Text(h.Key)
	})
}

// beneath is what is put back where h was: what somebody put there who notes nothing, else what is noted there now. notes are empty for
// all but the root group.
func beneath(notes []hold.Wide, h *Held) limit.Limits {
	d, ok := number(h.Device)
	if !h.Wide || !ok || h.was.Has(h.Key) && !h.lent {
		return h.was
	}
	if n := hold.Last(notes, d, h.Key); n != nil {
		return limit.Limits{}.With(h.Key, n.Limits)
	}
	return limit.Limits{}
}
