// Package keeper holds containers to the limits of a policy for as long as it runs.
//
// A Keeper follows the engines' events and sets a container's limits when it starts. inotify reports writes to the
// control files of its groups, and new groups below them. The Keeper also compares all limits from time to time, and
// writes only those that differ. It records each limit in a file. If it ends in any way, the next keeper continues
// from these records, and removes limits that no rule sets any more.
//
// For each container, device and kind of limit, the last rule that sets it decides (see policy). If a part of a rule
// can't be applied, the whole rule is dropped for that container and reported as a Fault; the other rules stay in
// force.
//
// The words: an entry is a container (or the root group, or a group that containers share) with its limits. A slot is
// one kind of limit on one device. A grant is the value that a rule gives a slot. To reconcile an entry is to compare its
// records with the kernel's values; reconciling finds the slots that other programs changed. A device-wide rule also sets
// a limit in the root group, but not on devices where plimsoll limit set, a run or another keeper has one.
//
// Easily got wrong:
//
//   - An engine that is down reports no names or labels. The keeper uses the last known ones, or a container would lose its
//     limits with its daemon.
//   - If a rule goes, the limit that another program had set before is restored, not merely removed.
//   - Two programs that set the same limit would write against each other for ever, so each correction
//     waits longer than the one before.
package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/expiring"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/text/size"
)

// Options configure a Keeper.
type Options struct {
	// Holder finds groups and writes limits. Its Finder reports the containers.
	Holder *hold.Holder
	// Policy is the path of the policy file.
	Policy string
	// Run is the folder of the journal, with the keeper's lock and its records. It is created if needed, and should
	// not outlive a boot. One keeper runs in each folder. Keepers of different folders share only the records of the
	// root group, so two of them must never limit the same container.
	Run string
	// Check is the interval between checks of all limits, Sync that between listings of all engines' containers, and
	// Poll that between looks at the policy file. 0 is DefaultCheck, DefaultSync and DefaultPoll.
	Check, Sync, Poll time.Duration
	// DeviceLimits are the records of the limits in the root group, with their owners; nil: those of the folder Run, which
	// no other program uses.
	DeviceLimits *hold.DeviceLimits
	// Ceilings are the base of percentages; nil: none are known.
	Ceilings Ceilings
	// Unnoted lets Once set limits that it can't record.
	Unnoted bool
	// ClearOnStop removes all limits at the end. Otherwise they stay.
	ClearOnStop bool
	// Log receives a line for each event. Names in it may contain anything: clean them before they are shown. nil
	// logs nothing.
	Log func(line string)
}

// Intervals of the regular checks, for changes without an event. A check of 1,000 groups takes 30 to 50 ms, and an
// engine with as many containers a second to list them; together they have to stay below half a percent of a core.
const (
	DefaultCheck = 30 * time.Second
	DefaultSync  = 10 * time.Minute
	DefaultPoll  = time.Second
)

// applying is the number of containers that are handled at a time.
const applying = 4

// ErrRunning is the error where the folder has a running keeper.
var ErrRunning = errors.New("another daemon runs here")

// A Keeper is a running keeper. Make it with New, and Close it.
type Keeper struct {
	opt    Options
	holder *hold.Holder
	store  *store
	began  time.Time
	watch  *groupWatch
	// unclaimed is why the folder could not be claimed again, "" if it is the keeper's.
	unclaimed string

	reload chan struct{}
	sync   chan time.Duration
	busy   chan struct{}
	wg     sync.WaitGroup

	mu      sync.Mutex
	loaded  loadedPolicy
	entries map[string]*entry
	// byID finds a container's entries by their target's FullID, for events with only the id.
	byID map[string][]*entry
	// deviceWide are the grants for the root group, by entry.
	deviceWide map[string][]Grant
	// refusedInRoot are the slots of device-wide grants that the root group did not get, because another owner limits
	// the device or the kernel refused them.
	refusedInRoot map[Slot]bool
	// shares are the grants for shared budgets, by entry; budgets the groups with such limits, by path; and
	// budgetFaults why a rule's budget can't be set.
	shares       map[string][]Grant
	budgets      map[string]*entry
	budgetFaults map[string]string
	// logged are the keys with which logOnce has logged something since the policy was loaded.
	logged   map[string]bool
	engines  map[string]Engine
	syncErr  string
	lastTick Tick

	root    *entry
	ceiling ceilingCache
	disk    expiring.Answers[device.Number, string]

	events, checks, writes, drift atomic.Int64
	// looks counts the looks at single entries after a notification.
	looks   atomic.Int64
	ticking atomic.Bool

	// budgeting is held while budgets are applied; synced is set once all containers have been listed and limited,
	// budgetsDue while budgets are due.
	budgeting          sync.Mutex
	synced, budgetsDue atomic.Bool
	// listed is set once the engines have been asked, complete once they have listed every container with a record, and
	// the limits of each are decided.
	listed, complete atomic.Bool

	closing sync.Mutex
	closed  bool
	// plans is set for a keeper that writes nothing; see Look.
	plans bool
}

// New makes a keeper and loads its policy. The error wraps ErrRunning if the folder has one already.
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
		opt: opt, holder: opt.Holder, began: time.Now(), entries: map[string]*entry{}, byID: map[string][]*entry{}, deviceWide: map[string][]Grant{},
		shares: map[string][]Grant{}, budgets: map[string]*entry{},
		engines: map[string]Engine{}, reload: make(chan struct{}, 1), sync: make(chan time.Duration, 1), busy: make(chan struct{}, applying),
		root: &entry{held: map[Slot]*Limit{}, since: time.Now()},
	}
	err := k.firstPolicy()
	if err != nil {
		return nil, err
	}
	if k.store, err = newStore(opt.Run, opt.Holder.FS.Proc); err != nil {
		return nil, err
	}
	if err = k.store.claim(); err != nil {
		return nil, err
	}
	k.tellPolicy()
	if k.opt.DeviceLimits == nil {
		k.opt.DeviceLimits = opt.Holder.DeviceLimits(opt.Run)
	}
	k.firstRoot()
	k.watch = newGroupWatch(k)
	return k, nil
}

// Close closes what the keeper has open. The limits stay, unless Run removed them.
func (k *Keeper) Close() error {
	k.finish()
	k.watch.close()
	return k.store.release()
}

// Reload reads the policy again, soon.
func (k *Keeper) Reload() {
	select {
	case k.reload <- struct{}{}:
	default:
	}
}

// Run applies the policy to containers until ctx ends. The error is why it can't continue.
func (k *Keeper) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.logf("daemon %d: %s of %s", os.Getpid(), size.Plural(len(k.rules()), "rule"), k.opt.Policy)
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
			if err := k.guard(); err != nil {
				return err
			}
			k.reloadPolicy(true)
		case <-poll.C:
			if err := k.guard(); err != nil {
				return err
			}
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
			k.background(func() { k.Sync(ctx) })
		}
	}
}

// stop ends Run.
func (k *Keeper) stop() error {
	k.finish()
	if !k.opt.ClearOnStop {
		k.logf("daemon %d ends; the limits stay", os.Getpid())
		return nil
	}
	var errs []error
	for _, e := range k.every() {
		e.mu.Lock()
		release := func() error {
			n, err := k.release(e, func(Slot) bool { return true })
			k.writes.Add(int64(n))
			return err
		}
		switch {
		case e.gone:
		case e == k.root && (!e.recalled || len(e.held) > 0):
			errs = append(errs, k.lockRoot(release))
		case e.groups == nil:
		default:
			errs = append(errs, release())
		}
		e.mu.Unlock()
	}
	err := errors.Join(errs...)
	if err == nil {
		err = k.leftovers()
	}
	if err == nil {
		k.logf("daemon %d ends; its limits are removed", os.Getpid())
	}
	return err
}

// leftovers says which limits stay after stop has removed those of the groups that the keeper has found.
func (k *Keeper) leftovers() error {
	left, unread := k.store.countRecords(k.alive, func(group string) bool {
		_, err := k.holder.Groups.At(group)
		return !errors.Is(err, fs.ErrNotExist)
	})
	if left > 0 {
		return errors.Join(fmt.Errorf("limits of %s stay, which an earlier daemon or a hook set: the daemon ended before it had found them; start it again, and stop it once it is ready", size.Plural(left, "group")), unread)
	}
	return unread
}

// spawn runs f beside the loop, unless the loop has ended, and reports whether it does.
func (k *Keeper) spawn(f func()) bool {
	k.closing.Lock()
	defer k.closing.Unlock()
	if !k.closed {
		k.wg.Go(f)
	}
	return !k.closed
}

// background is spawn for slow work. Only a few such functions run at a time.
func (k *Keeper) background(f func()) bool {
	return k.spawn(func() {
		k.busy <- struct{}{}
		defer func() { <-k.busy }()
		f()
	})
}

// finish waits for all work beside the loop, and prevents any more.
func (k *Keeper) finish() {
	k.closing.Lock()
	k.closed = true
	k.closing.Unlock()
	k.wg.Wait()
}

// rules are the rules of the policy in force.
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

// logOnce logs a sentence, once for each key until the next policy is loaded.
func (k *Keeper) logOnce(key, format string, args ...any) {
	k.mu.Lock()
	again := k.logged[key]
	if k.logged == nil {
		k.logged = map[string]bool{}
	}
	k.logged[key] = true
	k.mu.Unlock()
	if !again {
		k.logf(format, args...)
	}
}

// logLines logs an error's text with one line for each fault. Each other message is one line, so that a name with a line
// break can't imitate another message.
func (k *Keeper) logLines(text string) {
	for line := range strings.Lines(text) {
		k.logf("%s", strings.TrimSuffix(line, "\n"))
	}
}

// names joins limits for the log.
func names(held []*Limit) string {
	var words []string
	for _, h := range held {
		w := string(h.Key) + "=" + h.Value
		if h.DeviceName != "" {
			w += " on " + h.DeviceName
		}
		words = append(words, w+" ("+h.Rule+")")
	}
	return strings.Join(slices.Compact(words), ", ")
}
