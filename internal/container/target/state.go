package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// FromState reads the state that an OCI runtime passes to its hooks
// (https://github.com/opencontainers/runtime-spec/blob/main/runtime.md#state), and the files of the bundle and the engine about the
// container. It asks no daemon: the one that makes the container may hold a lock until the hook ends.
//
// Labels of Podman's containers, and labels that only containerd's database has, are not known then; Notes say so.
func (f *Finder) FromState(r io.Reader) (Target, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return Target{}, fmt.Errorf("the runtime's state: %w", err)
	}
	if len(b) > maxFile {
		return Target{}, fmt.Errorf("the runtime's state has more than %d MiB: give the container fewer annotations", maxFile>>20)
	}
	var s specs.State
	if err := json.Unmarshal(b, &s); err != nil {
		return Target{}, fmt.Errorf("standard input has no OCI state (is this called as a hook?): %.40q", b)
	}
	switch {
	case s.ID == "" || s.Bundle == "":
		return Target{}, errors.New("the runtime's state has no id or no bundle: is this called as a hook?")
	case s.Pid <= 0:
		return Target{}, fmt.Errorf("container %s has no process yet (%s): the hook is for the stage createRuntime or prestart", s.ID, s.Status)
	}
	var config struct {
		bundleConfig
		Root struct {
			Path string `json:"path"`
		} `json:"root"`
	}
	if err := readJSON(filepath.Join(s.Bundle, "config.json"), &config); err != nil {
		return Target{}, err
	}
	t := Target{Kind: Container, Engine: OCI, ID: s.ID, State: string(s.Status), Rootfs: config.Root.Path}
	if !filepath.IsAbs(t.Rootfs) {
		t.Rootfs = filepath.Join(s.Bundle, t.Rootfs)
	}
	switch config.Annotations[annotationManager] {
	case "libpod":
		t.Engine = Podman
	case "cri-o":
		t.Engine = CRIO
	}
	t.fromEngine(s.Bundle, &config.bundleConfig)
	config.describe(&t)
	if t.Engine == Docker {
		// Docker's daemon doesn't report its own mounts, either.
		t.Mounts = slices.DeleteFunc(t.Mounts, func(m Mount) bool { return filepath.Base(filepath.Dir(m.Source)) == t.ID })
	}
	ticks, err := f.start(s.Pid)
	if err != nil {
		t.PID = s.Pid
		return t, f.gone(t, err)
	}
	t.PID, t.StartTime, t.Running = s.Pid, ticks, true
	t.Groups, err = f.Groups(t)
	return t, err
}

// fromEngine adds facts from files that the engine keeps beside the bundle, or to which the bundle leads.
func (t *Target) fromEngine(bundle string, config *bundleConfig) {
	if filepath.Base(filepath.Dir(filepath.Dir(bundle))) == taskFolder {
		// .../io.containerd.runtime.v2.task/NAMESPACE/ID
		t.Namespace = filepath.Base(filepath.Dir(bundle))
		t.Engine = Containerd
	}
	if t.Engine == Podman || t.Engine == CRIO {
		// GRAPH/overlay-containers/ID/userdata
		names := &storageNames{}
		if t.Engine == Podman {
			t.Name, t.Image = names.of(t.ID, filepath.Dir(filepath.Dir(bundle)))
			t.Partial = true
			t.Notes = append(t.Notes, "the labels of Podman's containers are in its database alone, and are not known here")
		}
		return
	}
	for _, m := range config.Mounts {
		if dir := filepath.Dir(m.Source); m.Destination == "/etc/hostname" || m.Destination == "/etc/hosts" || m.Destination == "/etc/resolv.conf" {
			if filepath.Base(dir) == t.ID && t.fromDocker(filepath.Join(dir, "config.v2.json")) == nil {
				return
			}
		}
	}
	if t.Engine == Containerd {
		t.Partial = true
		t.Notes = append(t.Notes, "labels that are no annotations are in containerd's database alone, and are not known here")
	}
}

// fromDocker reads the file that Docker writes about a container before it starts it (moby/moby, daemon/container/container.go, type
// Container).
func (t *Target) fromDocker(file string) error {
	var c struct {
		ID     string
		Name   string
		Config struct {
			Image  string
			Labels map[string]string
		}
		MountPoints map[string]struct{ Source, Destination, Name, Driver, Type string }
	}
	if err := readJSON(file, &c); err != nil {
		return err
	}
	if c.ID != t.ID {
		return fs.ErrNotExist
	}
	t.Engine, t.Namespace = Docker, ""
	t.Name, t.Image = strings.TrimPrefix(c.Name, "/"), c.Config.Image
	t.addLabels(c.Config.Labels)
	for _, m := range c.MountPoints {
		if m.Type == "volume" {
			t.volumes = append(t.volumes, Mount{Destination: m.Destination, Volume: m.Name, Driver: m.Driver})
		}
	}
	return nil
}
