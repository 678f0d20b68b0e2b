package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A dockerNote says which folder a session made on this machine. It is written
// before the folder, so that Sweep finds the folder of a plimsoll that was killed.
type dockerNote struct {
	ID     string            `json:"id"`
	Labels map[string]string `json:"labels"`
	Folder string            `json:"folder"`
}

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
	folder := filepath.Join(parent, dockerName(spec.ID))
	if err := e.note(dockerNote{ID: spec.ID, Labels: e.labels(spec.ID), Folder: folder}); err != nil {
		return "", err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		e.forget(spec.ID)
		return "", fmt.Errorf("place %s: %w", spec.Place.Name, err)
	}
	return folder, nil
}

// dropFolder removes the folder of a session and the note about it.
func (e *docker) dropFolder(id, folder string) error {
	if !filepath.IsAbs(folder) || filepath.Base(folder) != dockerName(id) {
		return fmt.Errorf("folder %q does not belong to session %s", folder, id)
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the data of session %s: %w", id, err)
	}
	return e.forget(id)
}

// dockerName is the name of a session's container and folder.
func dockerName(id string) string { return "plimsoll-" + id }

func (e *docker) notes() string { return filepath.Join(e.opt.StateDir, "docker") }

func (e *docker) note(n dockerNote) error {
	if e.opt.StateDir == "" {
		return nil
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(e.notes(), 0o700); err != nil {
		return fmt.Errorf("note session %s: %w", n.ID, err)
	}
	if err := os.WriteFile(filepath.Join(e.notes(), n.ID+".json"), b, 0o600); err != nil {
		return fmt.Errorf("note session %s: %w", n.ID, err)
	}
	return nil
}

func (e *docker) forget(id string) error {
	if e.opt.StateDir == "" {
		return nil
	}
	err := os.Remove(filepath.Join(e.notes(), id+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sweepFolders removes the folders of dead owners.
func (e *docker) sweepFolders() (did []string, errs []error) {
	if e.opt.StateDir == "" {
		return nil, nil
	}
	files, err := os.ReadDir(e.notes())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, []error{err}
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		b, err := os.ReadFile(filepath.Join(e.notes(), f.Name()))
		var n dockerNote
		if !ok || err != nil || json.Unmarshal(b, &n) != nil || n.ID != id || !dockerID.MatchString(id) {
			continue
		}
		if !e.abandoned(n.Labels) {
			continue
		}
		there := dockerFileExists(n.Folder)
		if err := e.dropFolder(id, n.Folder); err != nil {
			errs = append(errs, err)
		} else if there {
			did = append(did, "folder "+n.Folder)
		}
	}
	return did, errs
}
