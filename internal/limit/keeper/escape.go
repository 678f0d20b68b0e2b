package keeper

import (
	"slices"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
)

// escaping drops the escapes that the root group holds.
func escaping(escapes []hold.Escape, root map[device.Number]limit.Limits) []hold.Escape {
	return slices.DeleteFunc(slices.Clone(escapes), func(e hold.Escape) bool { return e.HeldBy(root) })
}

// inRoot is the limits of the root group, including those about to be set. Grants that were refused there are none.
func (k *Keeper) inRoot() map[device.Number]limit.Limits {
	all := map[device.Number]limit.Limits{}
	for d, l := range k.holder.RootLimits() {
		all[d] = l
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, grants := range k.deviceWide {
		for _, g := range grants {
			if d := g.Device; !d.IsZero() && !k.refusedInRoot[g.Slot] {
				all[d] = all[d].With(g.Key, g.limits)
			}
		}
	}
	return all
}

// tellEscapes logs the writes that get past an entry's limits, once for all containers with the same rules.
func (k *Keeper) tellEscapes(e *entry) {
	if len(e.escapes) == 0 {
		return
	}
	rules := strings.Join(e.rules, ", ")
	for _, x := range escaping(e.escapes, k.inRoot()) {
		k.logOnce(rules+": "+x.Text(), "%s: %s (reported once for these rules: %s)", e.name(), x, rules)
	}
}
