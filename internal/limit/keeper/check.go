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
		k.addFaults(e, faults)
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

// Bounds of the wait before the next correction, if another program changes a limit again and again.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 10 * time.Second
)

// drifted records that an entry's limit was restored, and sets when the next may be. last is the time of the restore
// before.
func (k *Keeper) drifted(e *entry, last time.Time) {
	k.drift.Add(1)
	if e.drifted != e.logged || time.Since(last) > 2*lastBackoff {
		k.logf("%s: another program changed a limit; restored: %s", e.name(), e.drifted)
		e.logged = e.drifted
	}
	if time.Since(last) > 2*lastBackoff {
		e.backoff = firstBackoff
	} else {
		if e.backoff < lastBackoff && 2*e.backoff >= lastBackoff {
			k.logf("%s: another program changes a limit again and again; the daemon restores it every %v: %s", e.name(), lastBackoff, e.drifted)
		}
		e.backoff = min(max(2*e.backoff, firstBackoff), lastBackoff)
	}
	e.notBefore = time.Now().Add(e.backoff)
	time.AfterFunc(e.backoff, func() { k.changed(e) })
}

// settleWrites is the time from a notification to the look, so that one look covers several writes; the keeper's own
// writes cause notifications too. Notifications no more than burstGap apart are a burst. From the burstLength-th one on,
// looks wait for burstWait: a container that created and removed groups in a loop caused a hundred looks a second, which
// took half a core.
const (
	settleWrites = 10 * time.Millisecond
	burstWait    = 75 * time.Millisecond
	burstGap     = 200 * time.Millisecond
	burstLength  = 10
)

// soon calls changed once for several notifications of an entry in quick succession.
func (k *Keeper) soon(e *entry) {
	if e.lookDue.CompareAndSwap(false, true) {
		e.burst++
		if time.Since(e.notifiedAt) > burstGap {
			e.burst = 0
		}
		wait := settleWrites
		if e.burst >= burstLength {
			wait = burstWait
		}
		e.notifiedAt = time.Now()
		time.AfterFunc(wait, func() {
			e.lookDue.Store(false)
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
