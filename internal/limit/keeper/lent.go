package keeper

import (
	"context"
	"slices"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
)

// In the root group plimsoll limit set and plimsoll run have limits, too, and note whose they are. What the keeper finds there is
// theirs only for as long as it is noted: cleared meanwhile, it must not come back with the keeper's end.

// notesWait is how long others who change the root group are waited for. What isn't taken away by then is tried again later, as the
// limits of all others are looked at in between.
const notesWait = 2 * time.Second

// notes calls f with what is noted of the root group, while nobody changes that.
func (k *Keeper) notes(f func([]hold.Wide) error) error {
	if k.opt.Notes == nil {
		return f(nil)
	}
	ctx, cancel := context.WithTimeout(context.Background(), notesWait)
	defer cancel()
	return k.opt.Notes.While(ctx, f)
}

// lent reports whether what was there before h is noted.
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
