package keeper

import (
	"cmp"
	"sync"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
)

// elsewhere reports for each entry which of its processes are in groups that its limits don't reach, as limit show
// does. It looks at the processes only when the state is requested.
func (k *Keeper) elsewhere(views []*view) [][]string {
	all := make([][]string, len(views))
	now := procfs.Look(k.holder.FS.Proc)
	var wg sync.WaitGroup
	for i, v := range views {
		own, names := v.rates()
		if !v.limited || v.groups == nil || len(own) == 0 {
			continue
		}
		p := hold.GroupSet{Name: v.status.Target, Groups: v.groups, Target: &v.target}
		// Most entries have no such processes. Those that do are looked at again a moment later, together.
		if groups, err := k.holder.StraysNow(p, now); err != nil || len(groups) == 0 {
			continue // On an error the container is ending: its exit event follows.
		}
		wg.Go(func() {
			all[i], _ = k.holder.StrayNotes(p, own, procfs.Look(k.holder.FS.Proc), func(d device.Number) string { return cmp.Or(names[d], d.String()) }, "plimsoll daemon sets it soon")
		})
	}
	wg.Wait()
	return all
}

// rates are an entry's rates, and the names of their devices.
func (v *view) rates() (own map[device.Number]limit.Limits, names map[device.Number]string) {
	own, names = map[device.Number]limit.Limits{}, map[device.Number]string{}
	for _, h := range v.status.Held {
		if d := h.Device; !d.IsZero() && h.Key.Rate() && !h.DeviceWide && !h.Together {
			own[d], names[d] = own[d].With(h.Key, h.limits), h.DeviceName
		}
	}
	return own, names
}
