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

	"plimsoll/internal/limit"
)

// A store keeps what is held, a file for each target, so that the next keeper knows what to take away. It lies where
// nothing outlives a boot, as control groups don't.
type store struct {
	dir string
	// boot tells this boot from others, should dir outlive one after all.
	boot string
}

// A kept is a file of the store.
type kept struct {
	Boot string `json:"boot"`
	// Name, ID, PID and StartTime are the target's; the root group has none.
	Name string `json:"name"`
	ID   string `json:"id,omitempty"`
	// Group is the path of one that containers have in common.
	Group     string     `json:"group,omitempty"`
	PID       int        `json:"pid,omitempty"`
	StartTime uint64     `json:"start_time,omitempty"`
	Held      []keptHeld `json:"held"`
}

type keptHeld struct {
	Held
	// Before has the slot's key alone, if anything.
	Before limit.Limits `json:"before"`
}

// newStore makes the folder.
func newStore(dir, proc string) (*store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	boot, _ := os.ReadFile(filepath.Join(proc, "sys", "kernel", "random", "boot_id"))
	return &store{dir, strings.TrimSpace(string(boot))}, nil
}

// path is the file of a target. Its names are chosen by others, so that they can't be a file's.
func (s *store) path(e *entry) string {
	if e.key == "" {
		return filepath.Join(s.dir, "root-group.json")
	}
	sum := sha256.Sum256([]byte(e.key))
	if e.budget {
		return filepath.Join(s.dir, budgetFile+hex.EncodeToString(sum[:16])+".json")
	}
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// save writes what an entry holds, or removes the file if that is nothing.
func (s *store) save(e *entry) error {
	if len(e.held) == 0 {
		return s.forget(e)
	}
	k := kept{Boot: s.boot, Name: e.name(), Group: e.group(), ID: e.id, PID: e.process.PID, StartTime: e.process.StartTime}
	for _, h := range e.slots() {
		k.Held = append(k.Held, keptHeld{*h, h.was})
	}
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	path := s.path(e)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return fmt.Errorf("note what is held: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("note what is held: %w", err)
	}
	return nil
}

// forget removes an entry's file.
func (s *store) forget(e *entry) error {
	if err := os.Remove(s.path(e)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("note that nothing is held: %w", err)
	}
	return nil
}

// load reads what an earlier keeper held of a target, nil if that is nothing or not known.
func (s *store) load(e *entry) map[Slot]*Held {
	held := map[Slot]*Held{}
	b, err := os.ReadFile(s.path(e))
	if err != nil {
		return held
	}
	var k kept
	if json.Unmarshal(b, &k) != nil || k.Boot != s.boot || k.PID != e.process.PID || k.StartTime != e.process.StartTime {
		return held
	}
	for _, h := range k.Held {
		h.was = h.Before
		held[h.Slot] = &h.Held
	}
	return held
}

// budgetFile is how the names of files begin that are about groups that containers have in common.
const budgetFile = "together-"

// budgets lists those groups.
func (s *store) budgets() (paths []string) {
	files, _ := filepath.Glob(filepath.Join(s.dir, budgetFile+"*.json"))
	for _, f := range files {
		var k kept
		if b, err := os.ReadFile(f); err == nil && json.Unmarshal(b, &k) == nil && k.Boot == s.boot && k.Group != "" {
			paths = append(paths, k.Group)
		}
	}
	return paths
}

// group is the path of a group that containers have in common, "" for others.
func (e *entry) group() string {
	if e.budget {
		return e.target.Name
	}
	return ""
}

// sweep removes the files of targets that are not among entries.
func (s *store) sweep(entries []*entry) {
	keep := map[string]bool{filepath.Join(s.dir, "root-group.json"): true}
	for _, e := range entries {
		keep[s.path(e)] = true
	}
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.json*"))
	for _, f := range files {
		// A file that is being written is as young as this.
		if info, err := os.Stat(f); err == nil && !keep[f] && !strings.HasPrefix(filepath.Base(f), budgetFile) && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(f)
		}
	}
}

// compareSlots orders slots as tables have them.
func compareSlots(a, b Slot) int {
	return cmp.Or(strings.Compare(a.Device, b.Device), cmp.Compare(slices.Index(limit.Keys, a.Key), slices.Index(limit.Keys, b.Key)))
}
