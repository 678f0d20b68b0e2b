package keeper

import (
	"cmp"
	"sync"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
)

// elsewhere says of each entry which of its processes are in groups that the limits held don't reach: what limit show says. The processes are
// looked at when the state is asked for, and at no other time.
func (k *Keeper) elsewhere(views []*view) [][]string {
	all := make([][]string, len(views))
	now := procfs.Look(k.holder.FS.Proc)
	var wg sync.WaitGroup
	for i, v := range views {
		own, names := v.rates()
		if !v.held || v.groups == nil || len(own) == 0 {
			continue
		}
		p := hold.Part{Name: v.status.Target, Groups: v.groups, Target: &v.target}
		// Most have none. One that has is looked at once more a moment later, beside the others.
		if groups, err := k.holder.LooseAt(p, now); err != nil || len(groups) == 0 {
			continue // On an error the container is ending: its exit event follows.
		}
		wg.Go(func() {
			all[i], _ = k.holder.LooseNotes(p, own, procfs.Look(k.holder.FS.Proc), func(d device.Number) string { return cmp.Or(names[d], d.String()) }, "plimsoll daemon sets it soon")
		})
	}
	wg.Wait()
	return all
}

// rates are the rates that an entry is held to, and what their devices are called.
func (v *view) rates() (own map[device.Number]limit.Limits, names map[device.Number]string) {
	own, names = map[device.Number]limit.Limits{}, map[device.Number]string{}
	for _, h := range v.status.Held {
		if d, ok := number(h.Device); ok && h.Key.Rate() && !h.Wide && !h.Together {
			own[d], names[d] = own[d].With(h.Key, h.limits), h.DeviceName
		}
	}
	return own, names
}
