package keeper

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
)

// A refused limit is tried again after firstRetry, then less and less often.
const (
	firstRetry = 10 * time.Second
	lastRetry  = 10 * time.Minute
)

// apply sets a locked entry's limits by the policy in force, and returns the number of writes.
func (k *Keeper) apply(e *entry) (writes int) {
	if e.gone {
		return 0
	}
	k.recall(e)
	k.mu.Lock()
	p := k.loaded.policy
	k.mu.Unlock()
	if len(p.Of(e.target)) == 0 && len(e.held) == 0 && !e.stale {
		e.rules, e.unlimited, e.escapes, e.broken, e.parts, e.settled = nil, nil, nil, nil, nil, time.Now()
		k.setDeviceWide(e, nil)
		k.setShares(e, nil)
		return 0
	}
	old := faultTexts(e.broken)
	unlock, err := k.store.lock(e)
	if err != nil {
		k.refused(e, err, old)
		return 0
	}
	defer unlock()
	// A hook may have recorded limits by now.
	k.recall(e)
	if err := k.find(e); err != nil {
		k.refused(e, err, old)
		return 0
	}
	writes, err = k.settle(e)
	k.writes.Add(int64(writes))
	if writes > 0 {
		e.wrote = time.Now()
	}
	if errors.Is(err, cgroup.ErrGone) {
		return writes // The event of its end follows.
	}
	if err != nil {
		k.refused(e, err, old)
		return writes
	}
	if writes > 0 {
		if held := e.slots(); len(held) > 0 {
			k.logf("%s: held to %s", e.name(), names(held))
			k.tellEscapes(e)
		} else {
			k.logf("%s: no rule limits it any more", e.name())
		}
	}
	k.schedule(e, old)
	return writes + k.follow(e)
}

// addFaults adds faults of single rules to those that are known.
func (k *Keeper) addFaults(e *entry, faults []Fault) {
	old := faultTexts(e.broken)
	all := slices.Clone(e.broken)
	for _, f := range faults {
		all = append(slices.DeleteFunc(all, func(o Fault) bool { return o.Rule == f.Rule }), f)
	}
	e.broken = all
	k.schedule(e, old)
}

// refused records why no rule can be applied to an entry. old are the texts of the faults before.
func (k *Keeper) refused(e *entry, err error, old []string) {
	if errors.Is(err, cgroup.ErrGone) {
		return
	}
	e.broken = []Fault{{Text: err.Error(), Err: err}}
	k.schedule(e, old)
}

// schedule logs new faults and sets when a faulty entry is tried again. Errors caused by the container's exit are not
// faults; the exit event follows.
func (k *Keeper) schedule(e *entry, old []string) {
	if len(e.broken) > 0 && k.dead(e.target) {
		e.broken = nil
	}
	if len(e.broken) == 0 {
		e.retry, e.retryWait = time.Time{}, 0
		return
	}
	for _, f := range e.broken {
		if !slices.Contains(old, f.Text) {
			k.logf("%s: %s", e.name(), f)
		}
	}
	// A further fault before the retry doesn't delay it.
	if time.Now().Before(e.retry) {
		return
	}
	e.retryWait = min(max(2*e.retryWait, firstRetry), lastRetry)
	e.retry = time.Now().Add(e.retryWait)
}

// String describes the fault in a sentence.
func (f Fault) String() string {
	if f.Rule == "" {
		return f.Text
	}
	return fmt.Sprintf("%s can't be kept: %s", policy.Called(f.Rule), f.Text)
}

func faultTexts(fs []Fault) []string {
	var texts []string
	for _, f := range fs {
		texts = append(texts, f.Text)
	}
	return texts
}

// find finds an entry's groups.
func (k *Keeper) find(e *entry) error {
	if e.groups != nil {
		return nil
	}
	s, err := k.holder.ScopeOf(e.target, hold.Where{}, false)
	if err == nil && len(s.GroupSets) == 0 {
		err = fmt.Errorf("%s has no control group of its own", e.target.Ref())
	}
	if err != nil {
		return err
	}
	e.groups = s.GroupSets[0].Groups
	return nil
}

// settle applies the policy to an entry. A rule with a limit that the kernel refuses is dropped as a whole; earlier
// rules decide then.
func (k *Keeper) settle(e *entry) (writes int, err error) {
	k.mu.Lock()
	p := *k.loaded.policy
	k.mu.Unlock()
	e.settled = time.Now()
	var broken []Fault
	for range len(p.Rules) + 1 {
		r := rule(k.holder, &p, k.ceilings(), e.target, k.inForce(e))
		if broken == nil {
			broken = r.faults
			e.rules, e.unlimited, e.escapes, e.unread = r.rules, r.unlimited, r.escapes, r.unread
		}
		var own, deviceWide, shares []Grant
		for _, g := range r.grants {
			switch {
			case g.DeviceWide:
				deviceWide = append(deviceWide, g)
			case g.Together:
				shares = append(shares, g)
			default:
				own = append(own, g)
			}
		}
		if e.target.Partial {
			own = merge(own, k.withoutGone(standing(&p, e.held, e.target)))
		}
		e.broken = nil
		n, err := k.hold(e, own)
		writes += n
		if err != nil {
			return writes, err
		}
		if len(e.broken) == 0 {
			k.setDeviceWide(e, deviceWide)
			k.setShares(e, shares)
			break
		}
		broken = append(broken, e.broken...)
		p.Rules = slices.Clone(p.Rules)
		for i := range p.Rules {
			if slices.ContainsFunc(e.broken, func(f Fault) bool { return f.Rule == p.Rules[i].Name }) {
				// The other rules keep their ranks.
				p.Rules[i].Limits = limit.Ask{}
			}
		}
	}
	e.broken = broken
	return writes, nil
}

// inForce are the grants that a locked entry has: its own, and those in the root group and in shared groups.
func (k *Keeper) inForce(e *entry) (list []Grant) {
	for _, h := range e.slots() {
		if k.fateOf(h) == stays {
			list = append(list, h.Grant)
		}
	}
	k.mu.Lock()
	others := slices.Concat(k.deviceWide[e.key], k.shares[e.key])
	k.mu.Unlock()
	return append(list, k.withoutGone(others)...)
}

// setDeviceWide stores an entry's device-wide grants, and applies those of the root group.
func (k *Keeper) setDeviceWide(e *entry, grants []Grant) {
	if k.setGrants(k.deviceWide, e, grants) {
		k.spawn(k.applyRoot)
	}
}

// setGrants stores an entry's grants in a map by entry, and reports whether they differ from those there. An entry that
// was dropped meanwhile has none: nothing would remove them again.
func (k *Keeper) setGrants(m map[string][]Grant, e *entry, grants []Grant) (differ bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.entries[e.key] != e {
		return false
	}
	differ = !slices.Equal(m[e.key], grants)
	if m[e.key] = grants; len(grants) == 0 {
		delete(m, e.key)
	}
	return differ
}

// follow watches an entry, and repeats its check if groups are new, since writes just before the watch were not seen.
func (k *Keeper) follow(e *entry) (writes int) {
	for range 3 {
		if k.plans || !k.watch.add(e) {
			break
		}
		n, faults, err := k.correct(e)
		writes += n
		if err != nil || len(faults) > 0 {
			break // The next check reports it.
		}
	}
	return writes
}

// A ceilingCache caches the devices' measured ceilings while a policy is in force and no disk comes or goes.
type ceilingCache struct {
	mu    sync.Mutex
	known map[string]limit.Limits
}

// forget empties the cache after a disk came or went: another disk may have its name now.
func (c *ceilingCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.known)
}

// ceilings are Options.Ceilings with a cache.
func (k *Keeper) ceilings() Ceilings {
	if k.opt.Ceilings == nil {
		return nil
	}
	return func(device string) (limit.Limits, error) {
		k.ceiling.mu.Lock()
		defer k.ceiling.mu.Unlock()
		if l, ok := k.ceiling.known[device]; ok {
			return l, nil
		}
		l, err := k.opt.Ceilings(device)
		if err == nil {
			if k.ceiling.known == nil {
				k.ceiling.known = map[string]limit.Limits{}
			}
			k.ceiling.known[device] = l
		}
		return l, err
	}
}
