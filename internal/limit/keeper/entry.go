package keeper

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
)

// A Limit is a limit that the keeper has set.
type Limit struct {
	Grant
	// Since is when the keeper first set it.
	Since time.Time `json:"since"`
	// Was is the value before, in a policy's words. It is restored when no rule sets the limit any more. It is unknownWas if
	// the record of the value can't be read; the limit is removed then.
	Was string `json:"was"`
	// Drift is how often the keeper found it changed, and restored it.
	Drift int `json:"drift"`

	was limit.Limits
	// identity is the disk that has the limit, "" where that isn't known.
	identity string
	// prior is the keeper's earlier value, until the kernel has the present one; nil for none.
	prior *limit.Limits
	// unverified is set for a recorded limit until it is known whether the kernel still has it: see reconcile.
	unverified bool
}

// An entry is a target of the keeper: a container, the root group, or a group that containers share.
type entry struct {
	// key and id are its names, empty for the root group, and process is its first process as found. They don't
	// change.
	key, id string
	// budget is set for a group that containers share.
	budget  bool
	process target.Target

	// seen is its last published state, for readers while it is locked.
	seen atomic.Pointer[view]
	// lookDue is set while a look is due after a notification. notifiedAt is the time of the last notification, and
	// burst counts those in quick succession; both belong to the goroutine that sets lookDue.
	lookDue    atomic.Bool
	notifiedAt time.Time
	burst      int

	mu     sync.Mutex
	target target.Target
	// recalled is set once its record has been read.
	recalled bool
	// unknown is why its record could not be read, until rules limit the entry again.
	unknown string
	groups  *cgroup.Target
	rules   []string
	// unlimited describes data that rules select and that has no limit, with the reason.
	unlimited []string
	// escapes are the writes that get past its limits, unless the root group holds them.
	escapes []hold.Escape
	// unread is set while some of its limits stay as they are, because a ceiling can't be read.
	unread bool
	// settled is when its rules were last evaluated, and wrote when its limits were last changed, by rules or to
	// restore them.
	settled, wrote time.Time
	// parts are the limits that are set and checked.
	parts []part
	held  map[Slot]*Limit
	// stale is set while its record has limits that were removed, because the record could not be written.
	stale bool
	// broken are the rules that can't be applied.
	broken []Fault
	// gone is set when it has ended.
	gone bool
	// since is when the keeper found it.
	since time.Time
	// drift counts how often a limit was found changed; lastDrift and drifted are when last, and what.
	drift     int
	lastDrift time.Time
	drifted   string
	// logged is the last such text in the log.
	logged string
	// backoff is the wait before the next correction, if another program changes a limit again and again.
	backoff time.Duration
	// notBefore is the earliest time of the next correction, retry the time when broken rules are tried again.
	notBefore, retry time.Time
	retryWait        time.Duration
}

// name is its name in logs.
func (e *entry) name() string {
	if e.key == "" {
		return "the root group"
	}
	if e.budget {
		return "the group " + e.target.Name
	}
	return e.target.Ref()
}

// wasLimit is the value that a target had in a slot.
func wasLimit(states []cgroup.State, s Slot) limit.Limits {
	if len(states) == 0 {
		return limit.Limits{}
	}
	l := states[0].Limits
	if !s.Device.IsZero() {
		l = states[0].Devices[s.Device]
	}
	return limit.Limits{}.With(s.Key, l)
}

// trim removes the limits that the entry no longer has from those that are checked.
func (e *entry) trim() {
	for i := range e.parts {
		p := &e.parts[i]
		p.slots = slices.DeleteFunc(p.slots, func(s Slot) bool { return e.held[s] == nil })
		var left []Grant
		for _, s := range p.slots {
			left = append(left, e.held[s].Grant)
		}
		p.wants = wants(left, p.rule)
	}
	e.parts = slices.DeleteFunc(e.parts, func(p part) bool { return len(p.slots) == 0 })
}

// on reports whether the entry has a limit on one of the devices.
func (e *entry) on(numbers map[device.Number]bool) bool {
	for s := range e.held {
		if numbers[s.Device] {
			return true
		}
	}
	return false
}

// has reports whether the entry has a limit of a controller.
func (e *entry) has(c hierarchy.Controller) bool {
	for s := range e.held {
		if controllerOf(s) == c {
			return true
		}
	}
	return false
}

// slots lists the limits in order.
func (e *entry) slots() []*Limit {
	list := slices.Collect(maps.Values(e.held))
	slices.SortFunc(list, func(a, b *Limit) int { return compareSlots(a.Slot, b.Slot) })
	return list
}
