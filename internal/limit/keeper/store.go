package keeper

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/limit"
	"plimsoll/internal/state/filelock"
)

// A store keeps what is held, a file for each target, so that the next keeper knows what to take away. It lies where
// nothing outlives a boot, as control groups don't.
type store struct {
	dir string
	// locks has a file for each target that somebody holds just now.
	locks string
	// boot tells this boot from others, should dir outlive one after all.
	boot string
	// lax is set where what can't be noted is held all the same, and unnoted is why something could not.
	lax     bool
	unnoted error
}

// A kept is a file of the store.
type kept struct {
	Boot string `json:"boot"`
	// Name, ID, PID and StartTime are the target's; the root group has none.
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
	// Group is the path of one that containers have in common.
	Group     string `json:"group,omitempty"`
	PID       int    `json:"pid,omitempty"`
	StartTime uint64 `json:"start_time,omitempty"`
	// Known is what its engine told of it; nil where that knows more.
	Known *known     `json:"known,omitempty"`
	Held  []keptHeld `json:"held"`
}

type keptHeld struct {
	Held
	// Limits are what is held, and Before what was there; both have the slot's key alone, if anything.
	Limits limit.Limits `json:"limits"`
	Before limit.Limits `json:"before"`
	// Lent is set where what was there was noted as set for somebody who may take it back.
	Lent bool `json:"lent,omitempty"`
	// Identity says which disk it is held on.
	Identity string `json:"identity,omitempty"`
	// Prior is what the keeper held before: the kernel may still have that.
	Prior *limit.Limits `json:"prior,omitempty"`
}

// newStore makes the folder.
func newStore(dir, proc string) (*store, error) {
	locks := dir + ".locks"
	for _, d := range []string{dir, locks} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	return &store{dir: dir, locks: locks, boot: bootOf(proc)}, nil
}

// bootOf tells this boot from others, "" where nobody can.
func bootOf(proc string) string {
	boot, _ := os.ReadFile(filepath.Join(proc, "sys", "kernel", "random", "boot_id"))
	return strings.TrimSpace(string(boot))
}

// laxStore is newStore for one who holds also what can't be noted.
func laxStore(dir, proc string) *store {
	s, err := newStore(dir, proc)
	if err != nil {
		s = &store{dir: dir, locks: dir + ".locks", boot: bootOf(proc)}
	}
	s.lax, s.unnoted = true, err
	return s
}

// failed is err, or nil where that is no reason to end: it is kept then.
func (s *store) failed(err error) error {
	if err == nil || !s.lax {
		return err
	}
	if s.unnoted == nil {
		s.unnoted = err
	}
	return nil
}

// path is the file of a target. Its names are chosen by others, so that they can't be a file's.
func (s *store) path(e *entry) string {
	if e.key == "" {
		return filepath.Join(s.dir, rootFile)
	}
	sum := sha256.Sum256([]byte(e.key))
	if e.budget {
		return filepath.Join(s.dir, budgetFile+hex.EncodeToString(sum[:16])+".json")
	}
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// save writes what an entry holds, or removes the file if that is nothing, and no other that can't be read: the next keeper shall
// tell of it, too.
func (s *store) save(e *entry) error {
	if len(e.held) == 0 {
		if e.unknown != "" {
			return nil
		}
		return s.forget(e)
	}
	k := kept{Boot: s.boot, Name: e.name(), Group: e.group(), ID: e.id, PID: e.process.PID, StartTime: e.process.StartTime, Known: knownOf(e.target)}
	for _, h := range e.slots() {
		k.Held = append(k.Held, keptHeld{*h, h.limits, h.was, h.lent, h.identity, h.prior})
	}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := s.put(s.path(e), b); err != nil {
		return s.failed(fmt.Errorf("note the limits: %w", err))
	}
	return nil
}

// put writes a file whole or not at all: a hook may write the same one.
func (s *store) put(path string, b []byte) error {
	f, err := os.CreateTemp(s.dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// forget removes an entry's file.
func (s *store) forget(e *entry) error {
	if err := os.Remove(s.path(e)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.failed(fmt.Errorf("note that nothing is held: %w", err))
	}
	return nil
}

// noteMax is more than any note is long: that of a container with limits on some 10,000 devices.
const noteMax = 16 << 20

// load reads what an earlier keeper held of a target, and what it knew of it: nil if that is nothing. The error is why a file that is
// there can't be read.
func (s *store) load(e *entry) (map[Slot]*Held, *known, error) {
	held := map[Slot]*Held{}
	path := s.path(e)
	b, err := controlfile.Read(path, noteMax)
	if errors.Is(err, fs.ErrNotExist) {
		return held, nil, nil
	}
	if err != nil {
		return held, nil, err
	}
	var k kept
	if err := json.Unmarshal(b, &k); err != nil {
		return held, nil, fmt.Errorf("%s: %w", path, err)
	}
	if k.Boot != s.boot && k.Boot != "" {
		return held, nil, nil
	}
	if err := k.check(s, e); err != nil {
		return held, nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, h := range k.Held {
		held[h.Slot] = h.remembered()
	}
	return held, k.Known, nil
}

// errNoNote says of a file that keepers don't write such.
var errNoNote = errors.New("it is no note of limits")

// check returns why a file of this boot is no note of what is held of an entry: there is none without a limit.
func (k kept) check(s *store, e *entry) error {
	switch {
	case k.Boot != s.boot || len(k.Held) == 0:
		return errNoNote
	case k.PID != e.process.PID || k.StartTime != e.process.StartTime:
		return fmt.Errorf("it is a note of process %d", k.PID)
	}
	for _, h := range k.Held {
		if !slices.Contains(limit.Keys, h.Key) {
			return fmt.Errorf("%q is no limit", h.Key)
		}
	}
	return nil
}

// lockWait is how long another is waited for who holds the same target: a keeper or a hook.
const lockWait = 20 * time.Second

// lock keeps others from holding the same target until unlock.
func (s *store) lock(e *entry) (unlock func(), err error) {
	path := filepath.Join(s.locks, filepath.Base(s.path(e)))
	for end := time.Now().Add(lockWait); time.Now().Before(end); time.Sleep(time.Millisecond) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return func() {}, s.failed(err)
		}
		err = filelock.Alone(f)
		if errors.Is(err, errors.ErrUnsupported) {
			return func() { f.Close() }, nil
		}
		if err == nil {
			// Its last owner may have removed it meanwhile.
			a, errA := f.Stat()
			b, errB := os.Stat(path)
			if errA == nil && errB == nil && os.SameFile(a, b) {
				return func() { _ = filelock.Remove(f) }, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, filelock.ErrLocked) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("another process has held the lock for more than %v: see which one has %s open", lockWait, path)
}

// rootFile is the root group's, and budgetFile how the names of files begin that are about groups that containers have in common.
const (
	rootFile   = "root-group.json"
	budgetFile = "together-"
)

// files lists those whose names a pattern fits. The folder is no part of it: a user names that, and it may have characters that mean
// something in a pattern.
func (s *store) files(pattern string) (paths []string) {
	names, _ := fs.Glob(os.DirFS(s.dir), pattern)
	for _, n := range names {
		paths = append(paths, filepath.Join(s.dir, n))
	}
	return paths
}

// budgets lists those groups. unread are the files that don't tell which group they are about, with why.
func (s *store) budgets() (paths []string, unread map[string]error) {
	unread = map[string]error{}
	for _, f := range s.files(budgetFile + "*.json") {
		var k kept
		b, err := controlfile.Read(f, noteMax)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(b, &k)
		}
		switch {
		case err != nil:
			unread[f] = err
		case k.Boot != s.boot && k.Boot != "":
			// The kernel's limits went with that boot.
		case k.Boot != s.boot || k.Group == "":
			unread[f] = errNoNote
		default:
			paths = append(paths, k.Group)
		}
	}
	return paths, unread
}

// group is the path of a group that containers have in common, "" for others.
func (e *entry) group() string {
	if e.budget {
		return e.target.Name
	}
	return ""
}

// sweep removes the files of targets that have ended and are not among entries. missing is how many there are of others, whose engine
// doesn't tell of them now.
func (s *store) sweep(entries []*entry, alive func(pid int, ticks uint64) bool) (missing int) {
	keep := map[string]bool{filepath.Join(s.dir, rootFile): true}
	for _, e := range entries {
		keep[s.path(e)] = true
	}
	files := s.files("*.json*")
	for _, f := range files {
		// Others than these are what put was writing when it was killed: nobody's.
		if strings.HasSuffix(f, ".json") {
			var k kept
			if keep[f] || strings.HasPrefix(filepath.Base(f), budgetFile) {
				continue
			}
			if b, err := controlfile.Read(f, noteMax); err == nil && json.Unmarshal(b, &k) == nil && k.Boot == s.boot && k.PID != 0 && alive(k.PID, k.StartTime) {
				missing++
				continue
			}
		}
		// A file that is being written is as young as this.
		if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(f)
		}
	}
	return missing
}

// compareSlots orders slots as tables have them.
func compareSlots(a, b Slot) int {
	return cmp.Or(strings.Compare(a.Device, b.Device), cmp.Compare(slices.Index(limit.Keys, a.Key), slices.Index(limit.Keys, b.Key)))
}
