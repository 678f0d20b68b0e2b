package keeper

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/limit/cgroup"
)

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
			if k.synced.CompareAndSwap(true, false) {
				k.oldBudgets()
			}
		})
	}
}

// checkers is how many entries are looked at in parallel at most, and share how many make one more of them
// worth its while: a look at one takes some tens of microseconds.
const (
	checkers = 4
	share    = 100
)

// Check looks at all limits, and writes what differs from the policy.
func (k *Keeper) Check() Tick {
	t := Tick{At: time.Now()}
	entries := k.every()
	var next, writes atomic.Int64
	var wg sync.WaitGroup
	for range min(checkers, runtime.GOMAXPROCS(0), 1+len(entries)/share) {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(len(entries)); i = next.Add(1) {
				e := entries[i-1]
				e.mu.Lock()
				n := k.look(e)
				writes.Add(int64(n))
				if n > 0 || len(e.broken) > 0 {
					e.unlock()
				} else {
					e.mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	t.Groups, t.Writes, t.Took = len(entries), int(writes.Load()), time.Since(t.At)
	k.checks.Add(1)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastTick = t
	return t
}

// disks tries again at once what was refused, and looks at what is held on block devices that have come back. No
// numbers stand for all.
func (k *Keeper) disks(numbers map[string]bool) {
	k.ceiling.forget()
	for _, e := range k.every() {
		e.mu.Lock()
		e.settled = time.Time{} // Its rules may be for others now: the next list asks.
		if len(e.broken) > 0 {
			e.retryWait, e.retry = 0, time.Now()
		}
		if len(e.broken) > 0 || numbers == nil || e.on(numbers) {
			k.look(e)
		}
		e.unlock()
	}
}

// look checks an entry, which is locked.
func (k *Keeper) look(e *entry) (writes int) {
	if e.gone {
		return 0
	}
	if !e.retry.IsZero() && time.Now().After(e.retry) {
		switch {
		case e == k.root:
			k.spawn(k.applyRoot)
			e.retry = time.Time{}
		case e.budget:
			k.budgetsSoon()
			e.retry = time.Time{}
		default:
			return k.apply(e)
		}
		return 0
	}
	if len(e.parts) == 0 || time.Now().Before(e.notBefore) {
		return 0
	}
	writes, err := k.correct(e)
	if err != nil && !errors.Is(err, cgroup.ErrGone) {
		k.refused(e, Fault{Text: err.Error(), Err: err})
	}
	return writes
}

// correct puts back what differs from an entry's limits, and counts it.
func (k *Keeper) correct(e *entry) (writes int, err error) {
	drift, last := e.drift, e.lastDrift
	writes, err = k.check(e)
	k.writes.Add(int64(writes))
	if e.drift > drift && !errors.Is(err, cgroup.ErrGone) {
		k.drifted(e, last)
	}
	return writes, err
}

// Corrections of what somebody else writes again and again wait so long.
const (
	firstFight = 100 * time.Millisecond
	lastFight  = 10 * time.Second
)

// drifted notes that an entry's limit was put back. last is when one was before.
func (k *Keeper) drifted(e *entry, last time.Time) {
	k.drift.Add(1)
	if e.drifted != e.logged || time.Since(last) > 2*lastFight {
		k.logf("%s: somebody changed a limit; put back: %s", e.name(), e.drifted)
		e.logged = e.drifted
	}
	if time.Since(last) > 2*lastFight {
		e.fight = firstFight
	} else {
		if e.fight < lastFight && 2*e.fight >= lastFight {
			k.logf("%s: somebody changes a limit again and again; it is put back every %v: %s", e.name(), lastFight, e.drifted)
		}
		e.fight = min(max(2*e.fight, firstFight), lastFight)
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
		defer e.unlock()
		k.look(e)
		if !e.gone {
			k.follow(e)
		}
	})
}
