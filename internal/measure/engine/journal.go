package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/limit/hold"
)

// A journal notes what a session is about to make on the host, before it makes
// it, so that Sweep finds the leftovers of a plimsoll that was killed. There
// is one file a session, in a folder of the state directory that all engines share. The
// zero journal, of an engine without a state directory, notes nothing.
type journal struct {
	dir string
}

// journalIn is the journal of a state directory, which may be empty: none.
func journalIn(state string) journal {
	if state == "" {
		return journal{}
	}
	return journal{filepath.Join(state, "sessions")}
}

// A leftover is one journal entry.
type leftover struct {
	ID     string `json:"id"`
	Engine string `json:"engine"`
	Owner  Owner  `json:"owner"`
	// Lock names the file in the journal's folder that the owner holds locked; "" for none.
	Lock string `json:"lock,omitempty"`
	// Paths are the folders that the session made, absolute: the sweep may run in
	// another folder.
	Paths []string `json:"paths"`
	// Runtime and RuntimeRoot name the OCI runtime that knows the container ID.
	Runtime     string `json:"runtime,omitempty"`
	RuntimeRoot string `json:"runtime_root,omitempty"`
	// Processes are programs that the session started and that may outlive their owner.
	Processes []Owner `json:"processes,omitempty"`
	// Root is a limit of a device that was set for all who use it; nil: none.
	Root *hold.Wide `json:"root,omitempty"`
}

// note writes an entry. It must succeed before anything of it is made.
func (j journal) note(l leftover) error {
	if j.dir == "" {
		return nil
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return fmt.Errorf("note session %s: %w", l.ID, err)
	}
	if l.Owner == Self() {
		var err error
		if l.Lock, err = j.hold(l.ID); err != nil {
			return fmt.Errorf("note session %s: %w", l.ID, err)
		}
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := os.WriteFile(j.path(l.ID), b, 0o600); err != nil {
		// A torn entry would never be swept.
		return fmt.Errorf("note session %s: %w", l.ID, errors.Join(err, j.forget(l.ID)))
	}
	return nil
}

// forget removes an entry whose leftovers are gone.
func (j journal) forget(id string) error {
	if j.dir == "" {
		return nil
	}
	err := os.Remove(j.path(id))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	return j.letGo(id)
}

func (j journal) path(id string) string { return filepath.Join(j.dir, id+".json") }

// stale returns the entries of engine whose owner is dead. A file that is no
// entry is left alone.
func (j journal) stale(engine string) ([]leftover, error) {
	if j.dir == "" {
		return nil, nil
	}
	files, err := os.ReadDir(j.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ls []leftover
	for _, f := range files {
		if l, ok := j.read(f.Name()); ok && l.Engine == engine && !j.alive(l) {
			ls = append(ls, l)
		}
	}
	return ls, j.dropLocks()
}

// read returns the entry in a file of the journal's folder, if it is one.
func (j journal) read(name string) (l leftover, ok bool) {
	id, ok := strings.CutSuffix(name, ".json")
	if !ok {
		return l, false
	}
	b, err := os.ReadFile(j.path(id))
	if err != nil {
		return l, false
	}
	return l, json.Unmarshal(b, &l) == nil && l.ID == id
}

// clear removes the folders of l and then its entry; removed lists those that were
// there. What can't be removed stays noted, for the next sweep.
func (j journal) clear(l leftover) (removed []string, err error) {
	for _, p := range l.Paths {
		there, err := removeOwn(p, l.ID)
		if err != nil {
			return removed, fmt.Errorf("remove the leftovers of session %s: %w", l.ID, err)
		}
		if there {
			removed = append(removed, "folder "+p)
		}
	}
	if l.Root != nil {
		if err := j.sweepRootLimit(l); err != nil {
			return removed, err
		}
		removed = append(removed, "limit of device "+l.Root.Device.String())
	}
	if err := j.forget(l.ID); err != nil || l.Lock == "" {
		return removed, err
	}
	return removed, j.dropLocks()
}

// sweep clears what dead owners' sessions of engine left behind.
func (j journal) sweep(engine string) (removed []string, err error) {
	stale, err := j.stale(engine)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, l := range stale {
		did, err := j.clear(l)
		removed, errs = append(removed, did...), append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// ownFolder is the folder of session id in path, made absolute: the only one of the user's
// folder that is ever written to or removed.
func ownFolder(path, id string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // Else there is no working folder, and path alone leads nowhere either.
	}
	return filepath.Join(path, folderPrefix+id)
}

// ownSource is the folder of session id's sources in path, made absolute. Its parent may be that of ownFolder, too.
func ownSource(path, id string) string { return ownFolder(path, id) + sourceSuffix }

// sourceSuffix ends the names of folders of sources.
const sourceSuffix = "-source"

// dataParent is the host folder that a session's own one is made in: path, or one of the state folder
// where the place names none.
func dataParent(state, path string) (string, error) {
	if path != "" {
		return path, nil
	}
	path = filepath.Join(state, "data")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", ownFault(state, fmt.Errorf("make the data folder: %w", err))
	}
	return path, nil
}

// folderPrefix begins the name of every folder that a session makes.
const folderPrefix = "plimsoll-"

// removeOwn removes a folder made by session id, and says whether it was there. It
// refuses any other: a journal is a file, and files get damaged.
func removeOwn(path, id string) (there bool, err error) {
	base := strings.TrimSuffix(filepath.Base(path), sourceSuffix)
	if !filepath.IsAbs(path) || id == "" || (base != folderPrefix+id && filepath.Base(path) != folderPrefix+id) || filepath.Clean(path) != path {
		return false, fmt.Errorf("%s is not the folder of session %s", path, id)
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		// On a read-only file system, removing what isn't there is an error.
		return false, nil
	}
	return true, os.RemoveAll(path)
}
