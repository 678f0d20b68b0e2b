package keeper

import (
	"fmt"
	"slices"

	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
)

// RootGroup lists the root group's limits of the keeper of folder run, including those that an ended one has left,
// which are in no container's group. It doesn't know other folders' keepers.
func RootGroup(h *hold.Holder, run string) ([]Held, error) {
	e, _, err := rootOf(h, run)
	var list []Held
	for _, held := range e.slots() {
		list = append(list, *held)
	}
	return list, err
}

// rootOf is the root group's entry with its record. It creates no files.
func rootOf(h *hold.Holder, run string) (*entry, *store, error) {
	s := storeIn(run, h.FS.Proc)
	e := &entry{}
	var err error
	e.held, _, err = s.load(e)
	return e, s, err
}

// ClearRootGroup removes the limits that an ended keeper of folder run has left in the root group, and restores the
// values before them, as the keeper would; deviceLimits are the limits of other owners there. With dry it writes nothing. A
// running keeper's limits stay, since it would restore them and its policy asks for them: kept has a sentence for
// each.
func ClearRootGroup(h *hold.Holder, run string, deviceLimits *hold.DeviceLimits, those func(Held) bool, dry bool) (done []hold.Done, kept []string, err error) {
	e, s, err := rootOf(h, run)
	if err != nil {
		return nil, nil, err
	}
	e.recalled = true
	lost := func(s Slot) bool { return those(*e.held[s]) }
	list := slices.DeleteFunc(e.slots(), func(h *Held) bool { return !lost(h.Slot) })
	if len(list) == 0 {
		return nil, nil, nil
	}
	if e.groups, err = h.Groups.Device(); err != nil {
		return nil, nil, err
	}
	if Runs(run) {
		for _, held := range list {
			kept = append(kept, fmt.Sprintf("%s=%s on %s stays in the root group: the daemon of %s sets it by %s, and would restore it; change its policy instead", held.Key, held.Value, held.DeviceName, run, policy.Called(held.Rule)))
		}
		return nil, kept, nil
	}
	var told []string
	k := &Keeper{opt: Options{Run: run, DeviceLimits: deviceLimits, Log: func(line string) { told = append(told, line) }}, holder: h, store: s, root: e, closed: true}
	if !dry {
		if err := s.claim(); err != nil {
			return nil, nil, err
		}
		defer func() { _ = s.release() }()
	}
	now := func() ([]cgroup.State, error) { return h.Groups.Read(e.groups) }
	for _, held := range list {
		told = nil
		was, ok, err := k.back(e, held, now)
		if err != nil {
			return nil, nil, err
		}
		diff := &cgroup.Diff{}
		if ok {
			for _, p := range parts([]Grant{{Slot: held.Slot, Rule: "before", limits: was}}) {
				if diff, err = h.Groups.Plan(e.groups, p.wants[0]); err != nil {
					return nil, nil, err
				}
			}
		}
		d := leftDone(e, held, diff, told...)
		if !dry {
			d.Writes, err = k.release(e, func(s Slot) bool { return s == held.Slot })
		}
		if err != nil {
			return nil, nil, err
		}
		done = append(done, d)
	}
	return done, nil, nil
}

// leftDone is the result for a limit that a keeper has left.
func leftDone(e *entry, h *Held, diff *cgroup.Diff, notes ...string) hold.Done {
	name := fmt.Sprintf("the root group, for %s (%s)", h.DeviceName, h.Device)
	return hold.Done{GroupSet: hold.GroupSet{Name: name, Groups: e.groups, DeviceWide: true, For: h.Whose()}, Diff: diff, Notes: notes}
}

// Whose names the owner of the root group's limit.
func (h Held) Whose() string { return policy.Called(h.Rule) + " of plimsoll daemon" }

// Noted is h as a record of the root group's limits.
func (h Held) Noted() hold.DeviceLimit {
	return hold.DeviceLimit{For: h.Whose(), Device: h.Device, Disk: h.DeviceName, Limits: h.limits}
}
