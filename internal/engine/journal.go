package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A journal notes what a session is about to make on the host, before it makes
// it, so that Sweep finds the leftovers of a plimsoll that was killed. There
// is one file a session, in a folder of the state directory.
type journal struct {
	dir string
}

// A leftover is one journal entry.
type leftover struct {
	ID     string `json:"id"`
	Engine string `json:"engine"`
	Owner  Owner  `json:"owner"`
	// Paths are the folders that the session made.
	Paths []string `json:"paths"`
	// Runtime and RuntimeRoot name the OCI runtime that knows the container ID.
	Runtime     string `json:"runtime,omitempty"`
	RuntimeRoot string `json:"runtime_root,omitempty"`
}

// note writes an entry. It must succeed before anything of it is made.
func (j journal) note(l leftover) error {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return fmt.Errorf("note session %s: %w", l.ID, err)
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
	err := os.Remove(j.path(id))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (j journal) path(id string) string { return filepath.Join(j.dir, id+".json") }

// stale returns the entries of engine whose owner is dead. A file that is no
// entry is left alone.
func (j journal) stale(engine string) ([]leftover, error) {
	files, err := os.ReadDir(j.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ls []leftover
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok {
			continue
		}
		b, err := os.ReadFile(j.path(id))
		if err != nil {
			continue
		}
		var l leftover
		if json.Unmarshal(b, &l) == nil && l.ID == id && l.Engine == engine && !l.Owner.Alive() {
			ls = append(ls, l)
		}
	}
	return ls, nil
}

// ownFolder makes the folder of session id in path: the only one of the user's
// folder that is ever written to or removed.
func ownFolder(path, id string) string { return filepath.Join(path, folderPrefix+id) }

// folderPrefix begins the name of every folder that a session makes.
const folderPrefix = "plimsoll-"

// removeOwn removes a folder made by a session. It refuses any other.
func removeOwn(path string) error {
	if !strings.HasPrefix(filepath.Base(path), folderPrefix) {
		return fmt.Errorf("%s is not a folder of Plimsoll's", path)
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		// On a read-only file system, removing what isn't there is an error.
		return nil
	}
	return os.RemoveAll(path)
}
