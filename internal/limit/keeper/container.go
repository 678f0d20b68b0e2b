package keeper

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/procfs"
	"plimsoll/internal/state/journal"
)

// event handles an engine's event.
func (k *Keeper) event(e target.Event) {
	k.events.Add(1)
	switch e.Type {
	case target.Started, target.Changed:
		if e.Err != nil {
			k.logf("%s: %v; the daemon looks at all of its containers again", e.Target.Ref(), e.Err)
			k.syncSoon(time.Second)
			return
		}
		k.Started(e.Target)
	case target.Ended:
		k.ended(e.Target)
	case target.Connected:
		k.noteEngine(e.Source, nil, true)
		// At the start, several engines report at about the same time.
		k.syncSoon(200 * time.Millisecond)
	case target.Lost:
		k.noteEngine(e.Source, e.Err, false)
		k.logf("%s may miss events: %v; the daemon goes on to ask, and the limits stay", e.Source, e.Err)
	}
}

func (k *Keeper) syncSoon(d time.Duration) {
	select {
	case k.sync <- d:
	default:
	}
}

// keyOf identifies a running container. If it has a process here, the key changes with a restart.
func keyOf(t target.Target) string {
	switch {
	case t.PID != 0:
		return strconv.Itoa(t.PID) + ":" + strconv.FormatUint(t.StartTime, 10)
	case t.Kind == target.Container && t.ID != "":
		return t.Host + " " + t.FullID() // Its name may change.
	}
	return t.Ref() + " " + t.ID
}

// processOf is the process that a key names: see keyOf.
func processOf(key string) (p procfs.Process, ok bool) {
	pid, start, _ := strings.Cut(key, ":")
	var err, bad error
	p.PID, err = strconv.Atoi(pid)
	p.Start, bad = strconv.ParseUint(start, 10, 64)
	return p, err == nil && bad == nil
}

// Started applies the policy in the background to a target that has started or changed.
func (k *Keeper) Started(t target.Target) {
	if stillborn(t) {
		return
	}
	k.started(t, false, func() {})
}

// resettle is how long the rules of an unchanged container are not evaluated again. They may change all the same, if
// another disk is mounted.
const resettle = time.Hour

// started is Started, and calls done when the target is limited, or won't be. listed is set for a target that was
// listed without an event: if it is unchanged it is only checked.
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

// stillborn reports whether a container ended before its engine could be asked about it.
func stillborn(t target.Target) bool {
	return t.Kind == target.Container && t.PID == 0 && t.Elsewhere == ""
}

// enter returns a target's entry, or a new one.
func (k *Keeper) enter(t target.Target) *entry {
	key, id := keyOf(t), t.FullID()
	k.mu.Lock()
	e := k.entries[key]
	var namesakes []*entry
	if e == nil {
		e = &entry{key: key, id: t.ID, process: t, target: t, since: time.Now()}
		k.entries[key] = e
		if id != "" {
			namesakes = slices.Clone(k.byID[id])
			k.byID[id] = append(k.byID[id], e)
		}
	}
	k.mu.Unlock()
	// The container's entry from before a restart has ended. Another container with its id lives.
	for _, o := range namesakes {
		k.dropDead(o)
	}
	return e
}

// ended drops a target whose process has ended.
func (k *Keeper) ended(t target.Target) {
	id := t.FullID()
	k.mu.Lock()
	e := k.entries[keyOf(t)]
	var list []*entry
	switch {
	case e != nil && e.elsewhere():
		// Only its engine knows of its end.
		k.drop(e)
	case e != nil:
		list = []*entry{e}
	case id != "":
		// Docker's events of an end name no process, and may come after those of a restart.
		list = slices.Clone(k.byID[id])
	}
	k.mu.Unlock()
	for _, e := range list {
		k.dropDead(e)
	}
}

// elsewhere reports whether an entry is a container without a process on this machine, so that the keeper can't see
// whether it lives.
func (e *entry) elsewhere() bool { return e.process.Kind == target.Container && e.process.PID == 0 }

// dropDead drops an entry if its process has ended.
func (k *Keeper) dropDead(e *entry) {
	if !k.dead(e.process) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.entries[e.key] == e {
		k.drop(e)
	}
}

// dead reports whether a target's process has ended. A process that can't be examined now, because no more files can
// be opened, counts as alive.
func (k *Keeper) dead(t target.Target) bool {
	var gone *target.GoneError
	return errors.As(k.holder.Finder.Alive(t), &gone)
}

// drop drops an entry that has ended; k.mu is held. It removes no limits: the groups are gone with the processes, or
// were never on this machine.
func (k *Keeper) drop(e *entry) {
	delete(k.entries, e.key)
	id := e.process.FullID()
	if left := slices.DeleteFunc(k.byID[id], func(o *entry) bool { return o == e }); len(left) > 0 {
		k.byID[id] = left
	} else {
		delete(k.byID, id)
	}
	_, deviceWide := k.deviceWide[e.key]
	_, shares := k.shares[e.key]
	delete(k.deviceWide, e.key)
	delete(k.shares, e.key)
	k.spawn(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.gone = true
		k.watch.remove(e)
		_ = k.store.forget(e)
	})
	if deviceWide {
		k.background(k.applyRoot)
	}
	if shares {
		k.budgetsSoon()
	}
}

// dropUnlisted drops entries that only their engines know, and no longer list: the event of their end was missed.
// running are the targets that the engines have listed since entries was taken.
func (k *Keeper) dropUnlisted(entries []*entry, running []target.Target) {
	listed := map[string]bool{}
	for _, t := range running {
		listed[keyOf(t)] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range entries {
		if e.elsewhere() && !listed[e.key] && k.entries[e.key] == e {
			k.drop(e)
		}
	}
}

// all are the present entries.
func (k *Keeper) all() []*entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := make([]*entry, 0, len(k.entries))
	for _, e := range k.entries {
		list = append(list, e)
	}
	return list
}

// unlisted notes why some containers may not be known: engines can't be asked, or a record of limits can't be read.
func (k *Keeper) unlisted(err error, unread []*journal.DamagedError) {
	for _, d := range unread {
		d := fmt.Errorf("the record of a container that is not listed can't be read: %w", d)
		k.logOnce(d.Error(), "%v", d)
		err = errors.Join(err, d)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.syncErr = ""
	if err != nil {
		k.syncErr = err.Error()
	}
}

// Sync lists the containers of all engines, and drops those that have ended, as a keeper does from time to time. It
// doesn't wait until the containers are limited.
func (k *Keeper) Sync(ctx context.Context) {
	before := k.all()
	running, err := k.holder.Finder.List(ctx)
	if ctx.Err() != nil {
		return
	}
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
	if err == nil {
		k.dropUnlisted(before, running)
	}
	missing, unread := k.store.sweep(k.all(), k.alive)
	k.unlisted(err, unread)
	// Not by background: Sync itself runs there, and all of its slots could wait for others.
	k.spawn(func() {
		held.Wait()
		k.listed.Store(true)
		if err == nil && missing == 0 && !slices.ContainsFunc(k.all(), (*entry).undecided) {
			k.complete.Store(true)
			k.synced.Store(true)
		}
		k.applyRoot()
	})
}

// alive reports whether the process of a record runs.
func (k *Keeper) alive(p procfs.Process) bool {
	return !k.dead(target.Target{Kind: target.Process, PID: p.PID, StartTime: p.Start})
}
