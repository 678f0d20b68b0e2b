package keeper

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/limit/target"
)

// event works on what an engine told.
func (k *Keeper) event(e target.Event) {
	k.events.Add(1)
	switch e.Type {
	case target.Started, target.Changed:
		if e.Err != nil {
			k.logf("%s: %v; all of its containers are looked at again", e.Target.Ref(), e.Err)
			k.syncSoon(time.Second)
			return
		}
		k.Started(e.Target)
	case target.Ended:
		k.ended(e.Target)
	case target.Connected:
		k.noteEngine(e.Source, nil, true)
		// Several come together at the start.
		k.syncSoon(200 * time.Millisecond)
	case target.Lost:
		k.noteEngine(e.Source, e.Err, false)
		k.logf("%s tells no more: %v; it is asked again, and what is held stays", e.Source, e.Err)
	}
}

func (k *Keeper) syncSoon(d time.Duration) {
	select {
	case k.sync <- d:
	default:
	}
}

// keyOf tells a running container from all others, also from itself before a restart.
func keyOf(t target.Target) string {
	if t.PID != 0 {
		return strconv.Itoa(t.PID) + ":" + strconv.FormatUint(t.StartTime, 10)
	}
	return t.Ref() + " " + t.ID
}

// Started holds a target that has started, or has changed, in the background.
func (k *Keeper) Started(t target.Target) {
	if stillborn(t) {
		return
	}
	k.started(t, false, func() {})
}

// resettle is how long a container that is as it was isn't asked again what its rules say where: what it has mounted may be another disk's by
// then.
const resettle = time.Hour

// started is Started, and calls done when the target is held, or won't be. listed is set where nothing was told of it: one that is as it was
// is looked at only.
func (k *Keeper) started(t target.Target, listed bool, done func()) {
	e := k.enter(t)
	k.newcomer()
	goes := k.background(func() {
		defer done()
		e.mu.Lock()
		defer e.unlock()
		k.recall(e)
		if listed && len(e.broken) == 0 && time.Since(e.settled) < resettle && reflect.DeepEqual(t, e.target) {
			k.look(e)
			return
		}
		if fuller(t, e.target) {
			e.target = t
		}
		k.apply(e)
	})
	if !goes {
		done()
	}
}

// stillborn reports whether a container ended before its engine could be asked what it is.
func stillborn(t target.Target) bool {
	return t.Kind == target.Container && t.PID == 0 && t.Elsewhere == ""
}

// enter returns the entry of a target, and makes it if need be.
func (k *Keeper) enter(t target.Target) *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := keyOf(t)
	if e := k.entries[key]; e != nil {
		return e
	}
	if old := k.byID[t.ID]; old != nil && t.ID != "" {
		k.drop(old)
	}
	e := &entry{key: key, id: t.ID, process: t, target: t, since: time.Now()}
	k.entries[key] = e
	if t.ID != "" {
		k.byID[t.ID] = e
	}
	return e
}

// ended forgets a target whose process has ended.
func (k *Keeper) ended(t target.Target) {
	k.mu.Lock()
	e := k.entries[keyOf(t)]
	if e == nil && t.ID != "" {
		e = k.byID[t.ID]
	}
	k.mu.Unlock()
	// A daemon tells no process of what has ended, and may have told of a restart first.
	if e != nil {
		k.dropDead(e)
	}
}

// dropDead forgets an entry if its process has ended.
func (k *Keeper) dropDead(e *entry) {
	if k.holder.Finder.Alive(e.process) == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.entries[e.key] == e {
		k.drop(e)
	}
}

// drop forgets an entry; k.mu is held. Its groups have gone, and its limits with them.
func (k *Keeper) drop(e *entry) {
	delete(k.entries, e.key)
	if k.byID[e.id] == e {
		delete(k.byID, e.id)
	}
	_, wide := k.wides[e.key]
	_, shares := k.shares[e.key]
	delete(k.wides, e.key)
	delete(k.shares, e.key)
	k.spawn(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.gone = true
		k.watch.remove(e)
		_ = k.store.forget(e)
	})
	if wide {
		k.background(k.applyRoot)
	}
	if shares {
		k.budgetsSoon()
	}
}

// all are the entries, as they are now.
func (k *Keeper) all() []*entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := make([]*entry, 0, len(k.entries))
	for _, e := range k.entries {
		list = append(list, e)
	}
	return list
}

// Sync asks all engines for their containers, as a keeper does from time to time. It doesn't wait until they are held.
func (k *Keeper) Sync(ctx context.Context) { k.syncAll(ctx) }

// syncAll asks all engines for their containers, and forgets those that have ended.
func (k *Keeper) syncAll(ctx context.Context) {
	running, err := k.holder.Finder.List(ctx)
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	k.syncErr = ""
	if err != nil {
		k.syncErr = err.Error()
	}
	k.mu.Unlock()
	var held sync.WaitGroup
	for _, t := range running {
		if !stillborn(t) {
			held.Add(1)
			k.started(t, true, held.Done)
		}
	}
	for _, e := range k.all() {
		k.dropDead(e)
	}
	missing := k.store.sweep(k.all(), func(pid int, ticks uint64) bool {
		return k.holder.Finder.Alive(target.Target{Kind: target.Process, PID: pid, StartTime: ticks}) == nil
	})
	// Not in the background, of which this is one: all may wait for others.
	k.spawn(func() {
		held.Wait()
		k.listed.Store(true)
		if err == nil && missing == 0 && !slices.ContainsFunc(k.all(), (*entry).partial) {
			k.complete.Store(true)
			k.synced.Store(true)
		}
		k.applyRoot()
	})
}
