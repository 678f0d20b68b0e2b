package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// makeFolder makes the folder of a session on a bind place and returns its path.
func (e *docker) makeFolder(spec Spec) (string, error) {
	parent := spec.Place.Path
	if parent == "" {
		if e.opt.StateDir == "" {
			return "", fmt.Errorf("place %s: bind needs a path", spec.Place.Name)
		}
		parent = filepath.Join(e.opt.StateDir, "bind")
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return "", fmt.Errorf("place %s: %w", spec.Place.Name, err)
		}
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", fmt.Errorf("place %s: %w", spec.Place.Name, err)
	}
	if st, err := os.Stat(parent); err != nil {
		return "", fmt.Errorf("place %s: %w", spec.Place.Name, err)
	} else if !st.IsDir() {
		return "", fmt.Errorf("place %s: %s is not a folder", spec.Place.Name, parent)
	}
	folder := ownFolder(parent, spec.ID)
	if err := e.journal.note(leftover{ID: spec.ID, Engine: e.Name(), Owner: Self(), Paths: []string{folder}}); err != nil {
		return "", ownFault(e.opt.StateDir, err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", errors.Join(fmt.Errorf("place %s: %w", spec.Place.Name, err), e.journal.forget(spec.ID))
	}
	return folder, nil
}

// dropFolder removes the folder of a session and the note about it.
func (e *docker) dropFolder(id, folder string) error {
	_, err := e.journal.clear(leftover{ID: id, Paths: []string{folder}})
	return err
}

// dockerName is the name of a session's container and volume.
func dockerName(id string) string { return folderPrefix + id }
