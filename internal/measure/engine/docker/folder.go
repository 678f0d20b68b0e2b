package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// boundFolders are the host folders in which a session's worker makes its own folder, for volumes that are a host folder
// (the local driver's o=bind). The worker removes its folder, unless it is killed or the disk refuses; removing the volume
// leaves it there.
func boundFolders(spec engine.Spec) (paths []string) {
	if spec.Beside != nil {
		return nil
	}
	for _, p := range spec.Places() {
		parent := p.DriverOpts["device"]
		if p.Kind == place.Volume && volumeDriver(p) == "local" && filepath.IsAbs(parent) && slices.Contains(strings.Split(p.DriverOpts["o"], ","), "bind") {
			paths = append(paths, engine.OwnFolder(parent, spec.ID))
		}
	}
	return paths
}

// makeFolders makes the folders of a session in its bind places and returns their paths, "" for a place that is no bind. It
// also notes the folders bound.
func (e *Engine) makeFolders(ctx context.Context, spec engine.Spec, bound []string) (data, source string, err error) {
	if spec.Beside != nil {
		if spec.Place.Kind == place.Bind {
			data = spec.Beside.Info().HostPath
		}
		return data, "", nil
	}
	var paths, places []string
	if spec.Place.Kind == place.Bind {
		if data, err = e.folderIn(spec.Place); err != nil {
			return "", "", err
		}
		data = engine.OwnFolder(data, spec.ID)
		paths, places = append(paths, data), append(places, spec.Place.Name)
	}
	if spec.Source != nil && spec.Source.Kind == place.Bind {
		if source, err = e.folderIn(*spec.Source); err != nil {
			return "", "", err
		}
		source = engine.OwnSource(source, spec.ID)
		paths, places = append(paths, source), append(places, spec.Source.Name)
	}
	if len(paths)+len(bound) == 0 {
		return "", "", nil
	}
	if err := e.journal.Note(ctx, spec.ID, engine.SessionRecord{Paths: slices.Concat(paths, bound)}); err != nil {
		return "", "", engine.StateFault(e.opt.StateDir, err)
	}
	for i, p := range paths {
		if err := os.Mkdir(p, 0o755); err != nil {
			cerr := e.journal.Clear(spec.ID, paths[:i]...) // Folders that existed before stay.
			return "", "", errors.Join(fmt.Errorf("place %s: %w", places[i], err), cerr)
		}
	}
	return data, source, nil
}

// folderIn is the absolute path of a bind place's host folder.
func (e *Engine) folderIn(p place.Spec) (string, error) {
	parent := p.Path
	if parent == "" {
		if e.opt.StateDir == "" {
			return "", fmt.Errorf("place %s: bind needs a path", p.Name)
		}
		parent = filepath.Join(e.opt.StateDir, "bind")
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return "", fmt.Errorf("place %s: %w", p.Name, err)
		}
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", fmt.Errorf("place %s: %w", p.Name, err)
	}
	if st, err := os.Stat(parent); err != nil {
		return "", fmt.Errorf("place %s: %w", p.Name, err)
	} else if !st.IsDir() {
		return "", fmt.Errorf("place %s: %s is not a folder", p.Name, parent)
	}
	return parent, nil
}

// containerName is the name of a session's container and volume.
func containerName(id string) string { return engine.FolderPrefix + id }
