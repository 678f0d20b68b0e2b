package target

import (
	"fmt"
	"path/filepath"
	"strings"
)

// runcTree returns the tree of the containers in a folder of runc's (its --root, /run/runc). Each has a folder with its name, with
// state.json in it from its creation to its removal (opencontainers/runc, libcontainer/container_linux.go, type State).
func (f *Finder) runcTree(root string) *tree {
	s := &tree{f: f, name: "runc", root: root, levels: []string{"*"}, file: "state.json", of: []Engine{OCI, Podman, CRIO}}
	s.load = func(dir string) (Target, error) {
		var state struct {
			ID     string `json:"id"`
			PID    int    `json:"init_process_pid"`
			Start  uint64 `json:"init_process_start"`
			Config struct {
				// Labels are words key=value: the annotations, and the bundle's folder.
				Labels []string `json:"labels"`
			} `json:"config"`
		}
		name := filepath.Join(dir, s.file)
		if err := readJSON(name, &state); err != nil {
			return Target{}, err
		}
		if state.ID != filepath.Base(dir) {
			return Target{}, fmt.Errorf("%s: it belongs to container %q", name, state.ID)
		}
		var bundle string
		labels := map[string]string{}
		for _, l := range state.Config.Labels {
			k, v, _ := strings.Cut(l, "=")
			if k == "bundle" {
				bundle = v
			} else {
				labels[k] = v
			}
		}
		return f.ofRuntime(state.ID, bundle, labels, "", state.PID, state.Start)
	}
	s.ours = plain
	return s
}

// plain reports whether no engine reports the container as well.
func plain(t Target) bool { return t.Engine == OCI }

// crunTree returns the tree of the containers in a folder of crun's (its --root, /run/crun). Each has a folder with its name, with
// status in it (containers/crun, src/libcrun/status.c).
func (f *Finder) crunTree(root string) *tree {
	s := &tree{f: f, name: "crun", root: root, levels: []string{"*"}, file: "status", of: []Engine{OCI, Podman, CRIO}}
	s.load = func(dir string) (Target, error) {
		var status struct {
			PID    int    `json:"pid"`
			Start  uint64 `json:"process-start-time"`
			Bundle string `json:"bundle"`
			Cgroup string `json:"cgroup-path"`
		}
		if err := readJSON(filepath.Join(dir, s.file), &status); err != nil {
			return Target{}, err
		}
		return f.ofRuntime(filepath.Base(dir), status.Bundle, nil, status.Cgroup, status.PID, status.Start)
	}
	s.ours = plain
	return s
}

// ofRuntime makes the target of a runtime's container from the runtime's own notes: the bundle's folder, the annotations, the group,
// the first process and its start time.
func (f *Finder) ofRuntime(id, bundle string, annotations map[string]string, cgroup string, pid int, ticks uint64) (Target, error) {
	t := Target{Kind: Container, Engine: OCI, ID: id, State: "stopped"}
	var config bundleConfig
	if err := readJSON(filepath.Join(bundle, "config.json"), &config); err != nil {
		// The bundle may be removed by now.
		config = bundleConfig{Annotations: annotations}
		t.Notes = append(t.Notes, fmt.Sprintf("its mounts are not known: %v", err))
	}
	if cgroup != "" {
		config.Linux.CgroupsPath = cgroup
	}
	switch config.Annotations[annotationManager] {
	case "libpod":
		t.Engine, t.Partial = Podman, true
	case "cri-o":
		t.Engine = CRIO
	}
	config.describe(&t)
	err := f.run(&t, pid, ticks)
	return t, err
}

// run makes pid t's process if adopt confirms it.
func (f *Finder) run(t *Target, pid int, ticks uint64) error {
	if pid == 0 {
		return nil
	}
	ok, err := f.adopt(t, pid, ticks)
	if ok {
		t.Running, t.State = true, "running"
	}
	return err
}
