package keeper

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
)

// What is refused is tried again after firstRetry, then more and more seldom.
const (
	firstRetry = 10 * time.Second
	lastRetry  = 10 * time.Minute
)

// apply holds an entry, which is locked, to the policy that is in force.
func (k *Keeper) apply(e *entry) {
	if e.gone {
		return
	}
	k.mu.Lock()
	p := k.loaded.policy
	k.mu.Unlock()
	if len(p.Of(e.target)) == 0 && len(e.held) == 0 {
		e.rules, e.broken, e.parts = nil, nil, nil
		k.setWide(e, nil)
		return
	}
	if err := k.find(e); err != nil {
		k.refused(e, Fault{Text: err.Error(), Err: err})
		return
	}
	old := faultTexts(e.broken)
	writes, err := k.settle(e)
	k.writes.Add(int64(writes))
	if errors.Is(err, cgroup.ErrGone) {
		return // Its end is told next.
	}
	if err != nil {
		k.refused(e, Fault{Text: err.Error(), Err: err})
		return
	}
	if writes > 0 {
		if held := e.slots(); len(held) > 0 {
			k.logf("%s: held to %s", e.name(), names(held))
		} else {
			k.logf("%s: no rule limits it any more", e.name())
		}
	}
	k.schedule(e, old)
	k.follow(e)
}

// refused notes that nothing could be done for an entry.
func (k *Keeper) refused(e *entry, f Fault) {
	old := faultTexts(e.broken)
	if errors.Is(f.Err, cgroup.ErrGone) || k.holder.Finder.Alive(e.target) != nil {
		return
	}
	e.broken = []Fault{f}
	k.schedule(e, old)
}

// schedule tells of new faults, and says when an entry's are tried again.
func (k *Keeper) schedule(e *entry, old []string) {
	if len(e.broken) == 0 {
		e.retry, e.retryWait = time.Time{}, 0
		return
	}
	for _, f := range e.broken {
		if !slices.Contains(old, f.Text) {
			k.logf("%s: %s", e.name(), f)
		}
	}
	e.retryWait = min(max(2*e.retryWait, firstRetry), lastRetry)
	e.retry = time.Now().Add(e.retryWait)
}

// String is the fault in a sentence.
func (f Fault) String() string {
	if f.Rule == "" {
		return f.Text
	}
	return fmt.Sprintf("rule %s can't be kept: %s", f.Rule, f.Text)
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
	if err == nil && len(s.Parts) == 0 {
		err = fmt.Errorf("%s has no control group of its own", e.target.Ref())
	}
	if err != nil {
		return err
	}
	e.groups = s.Parts[0].Groups
	return nil
}

// settle gives an entry what the policy says. What the kernel refuses of a rule makes that rule give nothing: those before it
// decide then.
func (k *Keeper) settle(e *entry) (writes int, err error) {
	k.mu.Lock()
	p := *k.loaded.policy
	k.mu.Unlock()
	var broken []Fault
	for range len(p.Rules) + 1 {
		r := rule(k.holder, &p, k.ceilings(), e.target)
		if broken == nil {
			broken = r.faults
			e.rules = r.rules
		}
		var own, wide []Grant
		for _, g := range r.grants {
			if g.Wide {
				wide = append(wide, g)
			} else {
				own = append(own, g)
			}
		}
		e.broken = nil
		n, err := k.hold(e, own)
		writes += n
		if err != nil {
			return writes, err
		}
		if len(e.broken) == 0 {
			k.setWide(e, wide)
			break
		}
		broken = append(broken, e.broken...)
		p.Rules = slices.Clone(p.Rules)
		for i := range p.Rules {
			if slices.ContainsFunc(e.broken, func(f Fault) bool { return f.Rule == p.Rules[i].Name }) {
				// The ranks of the others stay.
				p.Rules[i].Limits = limit.Ask{}
			}
		}
	}
	e.broken = broken
	return writes, nil
}

// setWide notes what an entry's rules want for the root group, and sees to that.
func (k *Keeper) setWide(e *entry, grants []Grant) {
	key := e.key
	k.mu.Lock()
	same := slices.Equal(k.wides[key], grants)
	if len(grants) > 0 {
		k.wides[key] = grants
	} else {
		delete(k.wides, key)
	}
	k.mu.Unlock()
	if !same {
		k.spawn(k.applyRoot)
	}
}

// applyRoot gives the root group what all containers' rules say together: of several for one device the last.
func (k *Keeper) applyRoot() {
	k.root.mu.Lock()
	defer k.root.mu.Unlock()
	last := map[Slot]Grant{}
	k.mu.Lock()
	for _, grants := range k.wides {
		for _, g := range grants {
			if old, ok := last[g.Slot]; !ok || g.rank > old.rank {
				last[g.Slot] = g
			}
		}
	}
	k.mu.Unlock()
	if len(last) == 0 && len(k.root.held) == 0 {
		return
	}
	if k.root.groups == nil {
		groups, err := k.holder.Groups.Device()
		if err != nil {
			// ScopeOf found the root group where it can be limited at all.
			k.logf("the root group: %v", err)
			return
		}
		k.root.groups = groups
	}
	var grants []Grant
	for _, g := range last {
		grants = append(grants, g)
	}
	slices.SortFunc(grants, func(a, b Grant) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return compareSlots(a.Slot, b.Slot)
	})
	old := faultTexts(k.root.broken)
	k.root.broken = nil
	n, err := k.hold(k.root, grants)
	k.writes.Add(int64(n))
	if err != nil {
		k.root.broken = append(k.root.broken, Fault{Text: err.Error(), Err: err})
	}
	if n > 0 {
		k.logf("the root group: held to %s", names(k.root.slots()))
	}
	k.schedule(k.root, old)
	k.follow(k.root)
}

// follow watches an entry. What was made or written just before that is seen, too.
func (k *Keeper) follow(e *entry) {
	for range 3 {
		if !k.watch.add(e) {
			return
		}
		n, err := k.check(e)
		k.writes.Add(int64(n))
		if err != nil {
			return // The next look tells of it.
		}
	}
}

// A Tick is one look at all limits.
type Tick struct {
	At time.Time `json:"at"`
	// Took is in nanoseconds.
	Took   time.Duration `json:"took"`
	Groups int           `json:"groups"`
	Writes int           `json:"writes"`
}

// tick looks at all limits in the background, unless that is still being done.
func (k *Keeper) tick() {
	if k.ticking.CompareAndSwap(false, true) {
		k.background(func() {
			defer k.ticking.Store(false)
			k.Check()
		})
	}
}

// Check looks at all limits, and writes what differs from the policy.
func (k *Keeper) Check() Tick {
	t := Tick{At: time.Now()}
	for _, e := range append(k.all(), k.root) {
		e.mu.Lock()
		n := k.look(e)
		t.Groups, t.Writes = t.Groups+1, t.Writes+n
		e.mu.Unlock()
	}
	t.Took = time.Since(t.At)
	k.checks.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastTick = t
	return t
}

// disks tries again at once what was refused, and looks at what is held on block devices that have come back. No
// numbers stand for all.
func (k *Keeper) disks(numbers map[string]bool) {
	for _, e := range append(k.all(), k.root) {
		e.mu.Lock()
		if len(e.broken) > 0 {
			e.retryWait, e.retry = 0, time.Now()
		}
		if len(e.broken) > 0 || numbers == nil || e.on(numbers) {
			k.look(e)
		}
		e.mu.Unlock()
	}
}

// look checks an entry, which is locked.
func (k *Keeper) look(e *entry) (writes int) {
	if e.gone {
		return 0
	}
	if !e.retry.IsZero() && time.Now().After(e.retry) {
		before := k.writes.Load()
		if e == k.root {
			k.spawn(k.applyRoot)
			e.retry = time.Time{}
		} else {
			k.apply(e)
		}
		return int(k.writes.Load() - before)
	}
	if len(e.parts) == 0 || time.Now().Before(e.notBefore) {
		return 0
	}
	drift, last := e.drift, e.lastDrift
	writes, err := k.check(e)
	k.writes.Add(int64(writes))
	if errors.Is(err, cgroup.ErrGone) {
		return writes
	}
	if err != nil {
		k.refused(e, Fault{Text: err.Error(), Err: err})
	}
	if e.drift > drift {
		k.drifted(e, last)
	}
	return writes
}

// Corrections of what somebody else writes again and again wait so long.
const (
	firstFight = 100 * time.Millisecond
	lastFight  = 10 * time.Second
)

// drifted notes that an entry's limit was put back. last is when one was before.
func (k *Keeper) drifted(e *entry, last time.Time) {
	k.drift.Add(1)
	if time.Since(last) > 2*lastFight {
		e.fight = firstFight
		k.logf("%s: somebody changed a limit; put back: %s", e.name(), e.drifted)
	} else {
		if e.fight < lastFight && 2*e.fight >= lastFight {
			k.logf("%s: somebody changes a limit again and again; it is put back every %v: %s", e.name(), lastFight, e.drifted)
		}
		e.fight = min(2*e.fight, lastFight)
	}
	e.notBefore = time.Now().Add(e.fight)
	time.AfterFunc(e.fight, func() { k.changed(e) })
}

// settleWrites is how long the writes of one who changes a limit are waited for; the keeper's own are told of, too.
const settleWrites = 10 * time.Millisecond

// soon is changed once for all that is told of an entry at a time.
func (k *Keeper) soon(e *entry) {
	if e.told.CompareAndSwap(false, true) {
		time.AfterFunc(settleWrites, func() {
			e.told.Store(false)
			k.changed(e)
		})
	}
}

// changed looks at one entry, of which something was written.
func (k *Keeper) changed(e *entry) {
	k.background(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		k.look(e)
		if !e.gone {
			k.follow(e)
		}
	})
}

// A ceilingCache keeps what devices were measured to carry while a policy is in force.
type ceilingCache struct {
	mu    sync.Mutex
	known map[string]limit.Limits
}

// ceilings are those of the options, each asked for once.
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

func joinWords(words []string) string { return strings.Join(words, ", ") }
