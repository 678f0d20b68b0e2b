package keeper

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/limit/cgroup"
)

// A Tick is one check of all limits.
type Tick struct {
	At time.Time `json:"at"`
	// Took is in nanoseconds.
	Took   time.Duration `json:"took"`
	Groups int           `json:"groups"`
	Writes int           `json:"writes"`
}

// tick checks all limits in the background, unless the last check still runs.
func (k *Keeper) tick() {
	if k.ticking.CompareAndSwap(false, true) {
		k.background(func() {
			defer k.ticking.Store(false)
			k.Check()
			k.renamed()
			if k.synced.CompareAndSwap(true, false) {
				k.oldBudgets()
			}
		})
	}
}

// checkers is the largest number of parallel checkers, and share the number of entries that justifies another one:
// checking an entry takes some tens of microseconds.
const (
	checkers = 4
	share    = 100
)

// Check compares all limits with the policy, and writes those that differ.
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

// look checks an entry, which is locked.
func (k *Keeper) look(e *entry) (writes int) {
	if e.gone {
		return 0
	}
	due := !e.retry.IsZero() && time.Now().After(e.retry)
	if e == k.root && (len(e.held) > 0 || e.unknown != "") && !k.recorded() {
		due = true
	}
	if due {
		return k.again(e)
	}
	if len(e.parts) == 0 || time.Now().Before(e.notBefore) {
		return 0
	}
	writes, faults, err := k.correct(e)
	if len(faults) > 0 {
		k.unkept(e, faults)
	}
	if errors.Is(err, errReplaced) {
		writes += k.again(e)
	}
	return writes
}

// again applies the rules to a locked entry again.
func (k *Keeper) again(e *entry) (writes int) {
	switch {
	case e == k.root:
		e.retry = time.Time{}
		k.spawn(k.applyRoot)
	case e.budget:
		e.retry = time.Time{}
		k.budgetsSoon()
	default:
		return k.apply(e)
	}
	return 0
}

// correct restores an entry's limits that were changed, and counts that.
func (k *Keeper) correct(e *entry) (writes int, faults []Fault, err error) {
	drift, last := e.drift, e.lastDrift
	writes, faults, err = k.check(e)
	k.writes.Add(int64(writes))
	if e.drift > drift {
		e.wrote = time.Now()
	}
	if e.drift > drift && !errors.Is(err, cgroup.ErrGone) {
		k.drifted(e, last)
	}
	return writes, faults, err
}

// How long corrections wait when another program changes a limit again and again.
const (
	firstFight = 100 * time.Millisecond
	lastFight  = 10 * time.Second
)

// drifted records that an entry's limit was restored. last is when one was restored before.
func (k *Keeper) drifted(e *entry, last time.Time) {
	k.drift.Add(1)
	if e.drifted != e.logged || time.Since(last) > 2*lastFight {
		k.logf("%s: another program changed a limit; put back: %s", e.name(), e.drifted)
		e.logged = e.drifted
	}
	if time.Since(last) > 2*lastFight {
		e.fight = firstFight
	} else {
		if e.fight < lastFight && 2*e.fight >= lastFight {
			k.logf("%s: another program changes a limit again and again; the keeper puts it back every %v: %s", e.name(), lastFight, e.drifted)
		}
		e.fight = min(max(2*e.fight, firstFight), lastFight)
	}
	e.notBefore = time.Now().Add(e.fight)
	time.AfterFunc(e.fight, func() { k.changed(e) })
}

// settleWrites is how long a look waits for further writes after a change of a limit; the keeper's own writes are
// notified too. Endless notifications, as of a container that makes and removes groups in a loop, wait for
// crowdedWrites, from the hurried-th one that comes no later than unhurried after the one before: at a hundred looks
// a second such a container took half a core.
const (
	settleWrites  = 10 * time.Millisecond
	crowdedWrites = 75 * time.Millisecond
	unhurried     = 200 * time.Millisecond
	hurried       = 10
)

// soon calls changed once for several notifications of an entry in quick succession.
func (k *Keeper) soon(e *entry) {
	if e.told.CompareAndSwap(false, true) {
		e.row++
		if time.Since(e.toldAt) > unhurried {
			e.row = 0
		}
		wait := settleWrites
		if e.row >= hurried {
			wait = crowdedWrites
		}
		e.toldAt = time.Now()
		time.AfterFunc(wait, func() {
			e.told.Store(false)
			k.changed(e)
		})
	}
}

// changed checks one entry after a notification.
func (k *Keeper) changed(e *entry) {
	k.background(func() {
		e.mu.Lock()
		defer e.unlock()
		k.looks.Add(1)
		k.look(e)
		if !e.gone {
			k.follow(e)
		}
	})
}
