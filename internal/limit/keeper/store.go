package keeper

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/journal"
)

// Kinds of entries in the journal of the folder Run. A running keeper owns the entry of keeperKind. The others belong
// to no process, as limits stay when a keeper or a hook ends.
const (
	keeperKind    = "keeper"
	containerKind = "container-limits"
	// groupKind is for groups that several containers share.
	groupKind = "group-limits"
)

// A store records limits in a journal, with an entry for each target, so that the next keeper knows what to remove.
// Like control groups, the folder should not outlive a boot. The root group's limits are recorded in the machine's
// folder.
type store struct {
	journal *journal.Journal
	// root are the records of the root group while they are locked: see lockRoot.
	root *hold.DaemonRecords
	// run is the folder of the journal; locks has a lock file for each target that a keeper or hook is changing.
	run, locks string
	// boot identifies this boot, in case run outlives one after all.
	boot string
	// lax is set where limits are set even if they can't be recorded; unnoted is the error then.
	lax     bool
	unnoted error
}

// A record is the payload of an entry.
type record struct {
	// Process is the target's; shared groups only have its boot.
	Process procfs.Process `json:"process"`
	Name    string         `json:"name"`
	ID      string         `json:"id,omitempty"`
	// Group is the path of a group that containers share.
	Group string `json:"group,omitempty"`
	// Known is what the engine told about the target; nil where the engine can always be asked.
	Known *known          `json:"known,omitempty"`
	Held  []recordedLimit `json:"held"`
}

// A recordedLimit is a limit with what only the keeper knows of it.
type recordedLimit struct {
	Limit
	// Limits are the present limits, Before the earlier ones; both have only the slot's key, if anything.
	Limits limit.Limits `json:"limits"`
	Before limit.Limits `json:"before"`
	// Identity is the disk with the limit.
	Identity string `json:"identity,omitempty"`
	// Prior is the keeper's earlier value: the kernel may still have it.
	Prior *limit.Limits `json:"prior,omitempty"`
}

// newStore returns the store of a folder, which it creates if needed.
func newStore(run, proc string) (*store, error) {
	s := &store{journal: journal.In(run), run: run, locks: filepath.Join(run, "locks"), boot: procfs.Boot(proc)}
	return s, os.MkdirAll(s.locks, 0o700)
}

// laxStore is newStore for limits that are set even if they can't be recorded.
func laxStore(run, proc string) *store {
	s, err := newStore(run, proc)
	s.lax, s.unnoted = true, err
	return s
}

// failed returns err, or stores it and returns nil if the store is lax.
func (s *store) failed(err error) error {
	if err == nil || !s.lax {
		return err
	}
	if s.unnoted == nil {
		s.unnoted = err
	}
	return nil
}

// idMax is the length up to which a key is the entry's id: escaped, it is a file name.
const idMax = 64

// entryID is the kind and id of a target's entry, which is not the root group. The key comes from outside, and may be longer than a file name.
func (e *entry) entryID() (kind, id string) {
	if kind = containerKind; e.budget {
		kind = groupKind
	}
	if len(e.key) <= idMax {
		return kind, e.key
	}
	sum := sha256.Sum256([]byte(e.key))
	return kind, hex.EncodeToString(sum[:16])
}

// save records an entry's limits. Without limits it removes the record, unless that can't be read: the next keeper
// must report it, too.
func (s *store) save(e *entry) error {
	if e.key == "" {
		if err := s.saveRoot(e.slots()); err != nil {
			return fmt.Errorf("record the limits: %w", err)
		}
		return nil
	}
	if len(e.held) == 0 {
		if e.unknown != "" {
			return nil
		}
		return s.forget(e)
	}
	k := record{
		Process: e.process.Process(),
		Name:    e.name(), Group: e.group(), ID: e.id, Known: knownOf(e.target),
	}
	k.Process.Boot = s.boot
	for _, h := range e.slots() {
		k.Held = append(k.Held, recordedLimit{*h, h.limits, h.was, h.identity, h.prior})
	}
	kind, id := e.entryID()
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if err := s.journal.Rewrite(ctx, kind, id, k); err != nil {
		return s.failed(fmt.Errorf("record the limits: %w", err))
	}
	return nil
}

// forget removes an entry's record.
func (s *store) forget(e *entry) error {
	if err := s.discard(e.entryID()); err != nil {
		return s.failed(fmt.Errorf("remove the record of the limits: %w", err))
	}
	return nil
}

// discard removes an entry, even if it can't be read.
func (s *store) discard(kind, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	return s.journal.DiscardDamaged(ctx, kind, id)
}

// load reads an earlier keeper's record of a target: its limits, and what was known of it; nil without a record. The
// error is why an existing record can't be read.
func (s *store) load(e *entry) (map[Slot]*Limit, *known, error) {
	held := map[Slot]*Limit{}
	j, err := s.journal.Get(e.entryID())
	if errors.Is(err, fs.ErrNotExist) {
		return held, nil, nil
	}
	if err != nil {
		return held, nil, err
	}
	k, err := s.parse(j)
	if err == nil && s.passed(k) {
		return held, nil, nil
	}
	if err == nil {
		err = k.check(e)
	}
	if err != nil {
		return held, nil, s.damaged(j, err)
	}
	for _, h := range k.Held {
		held[h.Slot] = h.remembered()
	}
	return held, k.Known, nil
}

// errNotRecord is the error for an entry without limits or without the boot, which no keeper writes.
var errNotRecord = errors.New("it is not a record of limits")

// parse reads an entry's payload.
func (s *store) parse(e journal.Entry) (k record, err error) {
	err = json.Unmarshal(e.Payload, &k)
	if err == nil && (len(k.Held) == 0 || k.Process.Boot == "" && s.boot != "") && !s.passed(k) {
		err = errNotRecord
	}
	return k, err
}

// passed reports whether a record is of another boot, whose limits are gone.
func (s *store) passed(k record) bool { return k.Process.Boot != "" && k.Process.Boot != s.boot }

// damaged is the error of an entry that is not a record of limits.
func (s *store) damaged(e journal.Entry, err error) *journal.DamagedError {
	return &journal.DamagedError{Path: s.journal.Path(e.Kind, e.ID), ID: e.ID, Err: err}
}

// check returns why a record does not belong to an entry.
func (k record) check(e *entry) error {
	if p := e.process.Process(); k.Process.PID != p.PID || k.Process.Start != p.Start {
		return fmt.Errorf("it is a record of process %d", k.Process.PID)
	}
	for _, h := range k.Held {
		if !slices.Contains(limit.Keys, h.Key) {
			return fmt.Errorf("%q is not the key of a limit", h.Key)
		}
	}
	return nil
}

// lockWait is how long to wait for another keeper or hook that changes the same target.
const lockWait = 20 * time.Second

// lock keeps other processes from changing the same target until unlock.
func (s *store) lock(e *entry) (unlock func(), err error) {
	_, id := e.entryID()
	path := filepath.Join(s.locks, url.PathEscape(id))
	for end := time.Now().Add(lockWait); time.Now().Before(end); time.Sleep(time.Millisecond) {
		f, err := filelock.Take(path, 0o600)
		switch {
		case err == nil:
			return func() { _ = filelock.Remove(f) }, nil
		case errors.Is(err, errors.ErrUnsupported):
			return func() {}, nil
		case !errors.Is(err, filelock.ErrLocked):
			return func() {}, s.failed(err)
		}
	}
	return nil, fmt.Errorf("another process has held the lock for more than %v: see which one has %s open", lockWait, path)
}

// groups lists the shared groups with records. unread are the errors of records that can't be read, by file.
func (s *store) groups() (paths []string, unread map[string]error) {
	unread = map[string]error{}
	list, err := s.journal.Entries(groupKind)
	damaged, other := journal.Damaged(err)
	for _, e := range list {
		k, err := s.parse(e)
		switch {
		case err == nil && s.passed(k):
		case err == nil && k.Group == "":
			damaged = append(damaged, s.damaged(e, errNotRecord))
		case err != nil:
			damaged = append(damaged, s.damaged(e, err))
		default:
			paths = append(paths, k.Group)
		}
	}
	for _, d := range damaged {
		unread[d.Path] = d.Err
	}
	if other != nil {
		unread[s.run] = other
	}
	return paths, unread
}

// countRecords counts the records of limits that are in force: of this boot, and of groups that are there and whose process
// runs, or that containers share. unread are the errors of records that may be among them and can't be read. The root
// group's are in neither.
func (s *store) countRecords(alive func(procfs.Process) bool, there func(group string) bool) (n int, unread error) {
	for _, kind := range []string{containerKind, groupKind} {
		list, err := s.journal.Entries(kind)
		damaged, other := journal.Damaged(err)
		unread = errors.Join(unread, other)
		for _, e := range list {
			switch k, err := s.parse(e); {
			case err != nil:
				damaged = append(damaged, s.damaged(e, err))
			case s.passed(k):
			case kind == groupKind && there(k.Group), kind == containerKind && alive(k.Process):
				n++
			}
		}
		for _, d := range damaged {
			if p, ok := processOf(d.ID); !ok || kind == groupKind || alive(p) {
				unread = errors.Join(unread, d)
			}
		}
	}
	return n, unread
}

// group is the path of a shared group, "" for other entries.
func (e *entry) group() string {
	if e.budget {
		return e.target.Name
	}
	return ""
}

// young is how long the record of an unknown container is kept: a hook may have made it just now.
const young = time.Minute

// sweep removes the records of ended containers that are not among entries, and the files of interrupted writes.
// missing counts the records of containers that live, or may live, and that no engine lists. unread are those among
// them that can't be read.
func (s *store) sweep(entries []*entry, alive func(procfs.Process) bool) (missing int, unread []*journal.DamagedError) {
	keep := map[string]bool{}
	for _, e := range entries {
		_, id := e.entryID()
		keep[id] = true
	}
	list, err := s.journal.Entries(containerKind)
	damaged, _ := journal.Damaged(err)
	for _, e := range list {
		switch k, err := s.parse(e); {
		case keep[e.ID]:
		case err != nil:
			damaged = append(damaged, s.damaged(e, err))
		case k.Process.Boot == s.boot && k.Process.PID != 0 && alive(k.Process):
			missing++
		case time.Since(e.Made) > young:
			_ = s.discard(e.Kind, e.ID)
		}
	}
	for _, d := range damaged {
		if keep[d.ID] {
			continue
		}
		if p, ok := processOf(d.ID); ok && !alive(p) {
			_ = s.discard(containerKind, d.ID)
			continue
		}
		missing, unread = missing+1, append(unread, d)
	}
	_, _ = s.journal.Sweep(context.Background(), nil)
	filelock.Prune(s.locks, func(string) bool { return true })
	return missing, unread
}

// compareSlots orders slots as tables show them.
func compareSlots(a, b Slot) int {
	return cmp.Or(a.Device.Compare(b.Device), cmp.Compare(slices.Index(limit.Keys, a.Key), slices.Index(limit.Keys, b.Key)))
}
