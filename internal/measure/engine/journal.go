package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/host/procfs"
	records "plimsoll/internal/state/journal"
)

// A Journal records the sessions of one engine in the journal of a state folder. With an empty state folder it records
// nothing.
type Journal struct {
	*records.Journal
	state string
	// Kind is the kind of the entries of the engine's sessions.
	Kind string
}

// JournalIn returns the journal of an engine.
func JournalIn(state, engine string) Journal {
	return Journal{records.In(state), state, engine + "-session"}
}

// A SessionRecord is the payload of a session's entry: what the session makes on the host.
type SessionRecord struct {
	// Paths are the folders that the session made, absolute: the sweep may run in another folder.
	Paths []string `json:"paths"`
	// Runtime and RuntimeRoot identify the container's OCI runtime.
	Runtime     string `json:"runtime,omitempty"`
	RuntimeRoot string `json:"runtime_root,omitempty"`
	// Processes are programs that the session started and that may outlive the owner.
	Processes []procfs.Process `json:"processes,omitempty"`
}

// Note writes the entry of session id. Call it before making anything of the session, and make nothing if it fails.
func (j Journal) Note(ctx context.Context, id string, s SessionRecord) error {
	return j.Put(ctx, j.Kind, id, s)
}

// Clear removes the folders of session id and then its entry.
func (j Journal) Clear(id string, paths ...string) error {
	if _, err := removeFolders(id, paths); err != nil {
		return err
	}
	return j.Remove(j.Kind, id)
}

// SweepSessions undoes the sessions of dead owners. end ends a session's processes; it is nil for an engine whose processes
// end with their owner.
func (j Journal) SweepSessions(ctx context.Context, end func(ctx context.Context, id string, s SessionRecord) (did []string, err error)) (removed []string, err error) {
	removed, err = j.Sweep(ctx, map[string]records.Undo{
		j.Kind: func(ctx context.Context, e records.Entry) (did []string, err error) {
			var s SessionRecord
			if err := json.Unmarshal(e.Payload, &s); err != nil {
				return nil, fmt.Errorf("the record of session %s: %w", e.ID, err)
			}
			if end != nil {
				if did, err = end(ctx, e.ID, s); err != nil {
					return did, err
				}
			}
			folders, err := removeFolders(e.ID, s.Paths)
			return append(did, folders...), err
		},
	})
	halves, herr := sweepWorkers(j.state)
	for _, path := range halves {
		removed = append(removed, "half-installed worker "+path)
	}
	return removed, errors.Join(err, herr)
}

// removeFolders removes the folders of session id, and lists those that existed.
func removeFolders(id string, paths []string) (removed []string, err error) {
	for _, p := range paths {
		there, err := RemoveOwn(p, id)
		if err != nil {
			return removed, fmt.Errorf("remove the leftovers of session %s: %w", id, err)
		}
		if there {
			removed = append(removed, "folder "+p)
		}
	}
	return removed, nil
}

// OwnFolder is the folder of session id in path, made absolute. It is the only folder below the user's that a session
// writes to or removes.
func OwnFolder(path, id string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // Without a working folder, path alone leads nowhere either.
	}
	return filepath.Join(path, FolderPrefix+id)
}

// OwnSource is the folder of session id's sources in path, made absolute. It may have the same parent as OwnFolder.
func OwnSource(path, id string) string { return OwnFolder(path, id) + SourceSuffix }

// SourceSuffix ends the names of folders of sources.
const SourceSuffix = "-source"

// DataParent is the host folder that holds a session's own one: path, or a folder of the state folder if the place names
// none.
func DataParent(state, path string) (string, error) {
	if path != "" {
		return path, nil
	}
	path = filepath.Join(state, "data")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", StateFault(state, fmt.Errorf("make the data folder: %w", err))
	}
	return path, nil
}

// FolderPrefix begins the name of every folder that a session makes.
const FolderPrefix = "plimsoll-"

// RemoveOwn removes a folder made by session id, and reports whether it existed. It refuses any other: the path comes from
// the journal, a file that may be damaged.
func RemoveOwn(path, id string) (there bool, err error) {
	base := strings.TrimSuffix(filepath.Base(path), SourceSuffix)
	if !filepath.IsAbs(path) || id == "" || (base != FolderPrefix+id && filepath.Base(path) != FolderPrefix+id) || filepath.Clean(path) != path {
		return false, fmt.Errorf("%s is not the folder of session %s", path, id)
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		// On a read-only file system, removing a missing folder is an error.
		return false, nil
	}
	return true, removeHidden(path)
}

// hiddenPatience is how long the files that a file system in FUSE keeps in a folder may stay after their last user.
const hiddenPatience = 5 * time.Second

// removeHidden removes a folder with its content. In a file system in FUSE, a file that is removed while a process has it open
// gets another name (.fuse_hidden) in its folder. It goes when the kernel has told the file system that the file is closed,
// which may be after the process has ended.
func removeHidden(path string) error {
	for end := time.Now().Add(hiddenPatience); ; time.Sleep(20 * time.Millisecond) {
		err := os.RemoveAll(path)
		if !errors.Is(err, syscall.ENOTEMPTY) || time.Now().After(end) {
			return err
		}
	}
}
