// Package keeper holds containers to the limits of a policy for as long as it runs.
//
// A Keeper follows what the engines tell, and holds a container to its limits when it starts. It is told by inotify when
// somebody writes to a control file of a group that it holds, or makes a group below it, and looks at all
// of them every few seconds besides; it writes what differs, and nothing where nothing differs. What it holds is noted in files, so that the
// next keeper goes on where this one ended, however it ended, and takes away what no rule gives any more.
//
// Per container and per device the last rule that says something about a kind of limit decides (see policy). A rule
// of which a part can't be had gives a container nothing, and is a Fault of that container; the others are held.
//
// Easily got wrong:
//
//   - An engine that is down knows no names or labels. What was known of a container before stays, or its limits would
//     go with its daemon.
//   - A limit that somebody else had set before is put back when the rule goes, and not merely removed.
//   - Two programs that set the same limit would write against each other for ever: each correction
//     waits longer than the one before.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/filelock"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/limit/target"
)

// Options are how a Keeper works.
type Options struct {
	// Holder finds and writes. Its Finder is who tells of containers.
	Holder *hold.Holder
	// Policy is the path of the policy.
	Policy string
	// Run is the folder of the lock, the socket and what is held. It is made if need be; it should not outlive a
	// boot.
	Run string
	// Check is how often all limits are looked at, Sync how often all engines are asked for their containers, and
	// Poll how often the policy's file is looked at. 0 is DefaultCheck, DefaultSync and DefaultPoll.
	Check, Sync, Poll time.Duration
	// Ceilings is what percentages are of; nil knows nothing.
	Ceilings Ceilings
	// ClearOnStop takes all limits away at the end. Otherwise they stay.
	ClearOnStop bool
	// Log is given a line for whatever happens; nil says nothing.
	Log func(line string)
}

// How often what nobody tells of is looked at. A look at 1,000 groups takes 30 to 50 ms, and an engine with as many containers a
// second to list them; together they have to stay below half a percent of a core.
const (
	DefaultCheck = 30 * time.Second
	DefaultSync  = 10 * time.Minute
	DefaultPoll  = time.Second
)

// applying is how many containers are worked on at a time.
const applying = 4

// ErrRunning is the error where another keeper has the folder.
var ErrRunning = errors.New("another keeper runs here")

// A Keeper is a running one. Make it with New, and Close it.
type Keeper struct {
	opt    Options
	holder *hold.Holder
	store  *store
	lock   *os.File
	began  time.Time
	watch  *groupWatch
	// listener is closed by Run, which removes its socket: a later one may be another keeper's.
	listener net.Listener

	reload chan struct{}
	sync   chan time.Duration
	busy   chan struct{}
	wg     sync.WaitGroup

	mu      sync.Mutex
	loaded  loadedPolicy
	entries map[string]*entry
	// byID finds the entry of a container of which only the id is known.
	byID map[string]*entry
	// wides are the grants for the root group, by entry.
	wides    map[string][]Grant
	engines  map[string]Engine
	syncErr  string
	lastTick Tick

	root    *entry
	ceiling ceilingCache

	events, checks, writes, drift atomic.Int64
	ticking                       atomic.Bool

	closing sync.Mutex
	closed  bool
}

// New makes a keeper and loads its policy. The error wraps ErrRunning if there is one already.
func New(opt Options) (*Keeper, error) {
	for _, d := range []struct {
		of       *time.Duration
		standard time.Duration
	}{{&opt.Check, DefaultCheck}, {&opt.Sync, DefaultSync}, {&opt.Poll, DefaultPoll}} {
		if *d.of <= 0 {
			*d.of = d.standard
		}
	}
	k := &Keeper{
		opt: opt, holder: opt.Holder, began: time.Now(), entries: map[string]*entry{}, byID: map[string]*entry{}, wides: map[string][]Grant{},
		engines: map[string]Engine{}, reload: make(chan struct{}, 1), sync: make(chan time.Duration, 1), busy: make(chan struct{}, applying),
		root: &entry{held: map[Slot]*Held{}, since: time.Now()},
	}
	var err error
	if k.store, err = newStore(filepath.Join(opt.Run, "held"), opt.Holder.FS.Proc); err != nil {
		return nil, err
	}
	if k.lock, err = lock(filepath.Join(opt.Run, "keeper.lock")); err != nil {
		return nil, err
	}
	if err := k.firstPolicy(); err != nil {
		return nil, errors.Join(err, filelock.Remove(k.lock))
	}
	k.root.held = k.store.load(k.root)
	k.watch = newGroupWatch(k)
	return k, nil
}

// lock makes this the only keeper of a folder.
func lock(path string) (*os.File, error) {
	for range 10 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := filelock.Alone(f); err != nil {
			who, _ := os.ReadFile(path)
			f.Close()
			if errors.Is(err, filelock.ErrLocked) {
				return nil, fmt.Errorf("%w: process %s has %s; see it with plimsoll daemon --status", ErrRunning, who, path)
			}
			return nil, err
		}
		// Its last owner may have removed it between the two.
		a, errA := f.Stat()
		b, errB := os.Stat(path)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
			if err == nil {
				err = f.Truncate(int64(len(strconv.Itoa(os.Getpid()))))
			}
			return f, err
		}
		f.Close()
	}
	return nil, fmt.Errorf("%s: it is made and removed by others all the time", path)
}

// Close ends what the keeper has open. The limits stay, unless Run took them away.
func (k *Keeper) Close() error {
	k.finish()
	k.watch.close()
	return filelock.Remove(k.lock)
}

// Reload reads the policy again, soon.
func (k *Keeper) Reload() {
	select {
	case k.reload <- struct{}{}:
	default:
	}
}

// Run holds containers to the policy until ctx is over. It serves the state meanwhile. The error is why it can't go on.
func (k *Keeper) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := k.serve(ctx); err != nil {
		return err
	}
	defer k.listener.Close()
	k.logf("keeper %d: %d rules of %s", os.Getpid(), len(k.rules()), k.opt.Policy)
	events := k.holder.Finder.Events(ctx)
	disks := diskEvents(ctx)
	check, poll, all := time.NewTicker(k.opt.Check), time.NewTicker(k.opt.Poll), time.NewTicker(k.opt.Sync)
	defer check.Stop()
	defer poll.Stop()
	defer all.Stop()
	soon := time.NewTimer(0)
	defer soon.Stop()
	for {
		select {
		case <-ctx.Done():
			return k.stop()
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			k.event(e)
		case <-k.reload:
			k.reloadPolicy(true)
		case <-poll.C:
			k.reloadPolicy(false)
		case <-check.C:
			k.tick()
		case numbers := <-disks:
			k.background(func() { k.disks(numbers) })
		case <-all.C:
			soon.Reset(0)
		case d := <-k.sync:
			soon.Reset(d)
		case <-soon.C:
			k.background(func() { k.syncAll(ctx) })
		}
	}
}

// stop is the end of Run.
func (k *Keeper) stop() error {
	k.finish()
	if !k.opt.ClearOnStop {
		k.logf("keeper %d ends; the limits stay", os.Getpid())
		return nil
	}
	var errs []error
	for _, e := range append(k.all(), k.root) {
		e.mu.Lock()
		if !e.gone && e.groups != nil {
			n, err := k.release(e, func(Slot) bool { return true })
			k.writes.Add(int64(n))
			errs = append(errs, err)
		}
		e.mu.Unlock()
	}
	k.logf("keeper %d ends; its limits were taken away", os.Getpid())
	return errors.Join(errs...)
}

// spawn does work beside the loop, unless that has ended.
func (k *Keeper) spawn(f func()) {
	k.closing.Lock()
	defer k.closing.Unlock()
	if !k.closed {
		k.wg.Go(f)
	}
}

// background is spawn for what takes time: not all of it is done at once.
func (k *Keeper) background(f func()) {
	k.spawn(func() {
		k.busy <- struct{}{}
		defer func() { <-k.busy }()
		f()
	})
}

// finish waits for all that is done beside the loop, and lets nothing more begin.
func (k *Keeper) finish() {
	k.closing.Lock()
	k.closed = true
	k.closing.Unlock()
	k.wg.Wait()
}

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
	e := k.enter(t)
	k.background(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		// What a daemon told of it is better than what files tell while it is down.
		if t.Host != "" || e.target.Host == "" {
			e.target = t
		}
		k.apply(e)
	})
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
	e.held = k.store.load(e)
	k.entries[key] = e
	if t.ID != "" {
		k.byID[t.ID] = e
	}
	return e
}

// ended forgets a target whose process has ended.
func (k *Keeper) ended(t target.Target) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.entries[keyOf(t)]
	if e == nil && t.ID != "" {
		e = k.byID[t.ID]
	}
	// A daemon tells no process of what has ended, and may have told of a restart first.
	if e != nil && k.holder.Finder.Alive(e.process) != nil {
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
	delete(k.wides, e.key)
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
	for _, t := range running {
		k.Started(t)
	}
	entries := k.all()
	for _, e := range entries {
		if k.holder.Finder.Alive(e.process) != nil {
			k.mu.Lock()
			k.drop(e)
			k.mu.Unlock()
		}
	}
	k.store.sweep(k.all())
	k.background(k.applyRoot)
}

// rules are those of the policy that is in force.
func (k *Keeper) rules() []policy.Rule {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.loaded.policy.Rules
}

func (k *Keeper) logf(format string, args ...any) {
	if k.opt.Log != nil {
		k.opt.Log(fmt.Sprintf(format, args...))
	}
}

// names joins what was held, for the log.
func names(held []*Held) string {
	var words []string
	for _, h := range held {
		w := string(h.Key) + "=" + h.Value
		if h.DeviceName != "" {
			w += " on " + h.DeviceName
		}
		words = append(words, w+" ("+h.Rule+")")
	}
	return joinWords(slices.Compact(words))
}
