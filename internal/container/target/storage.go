package target

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Storage says where Podman and CRI-O keep containers (storage.conf's graphroot and runroot, containers-storage.conf(5)). They may
// share one.
type Storage struct {
	// Graph is /var/lib/containers/storage, Run is /run/containers/storage.
	Graph, Run string
}

// storageTree returns the tree of the containers in a Storage. Graph and Run each have DRIVER-containers, with a folder for each
// container, with userdata in it. In Run's is pidfile, which conmon writes (containers/conmon, src/conmon.c). In Graph's is
// config.json, with an annotation that names the engine. Graph's DRIVER-containers also has containers.json, with names
// (containers/storage, containers.go).
//
// CRI-O writes state.json beside config.json, with the process and its start time (cri-o/cri-o, internal/oci/container.go, type
// ContainerState).
func (f *Finder) storageTree(r Storage) *storage {
	names := &storageNames{}
	s := &tree{f: f, name: "the storage of Podman and CRI-O", root: r.Run, levels: []string{"*-containers", "*", "userdata"}, file: "pidfile", of: []Engine{Podman, CRIO}}
	s.known = func() ([]string, error) {
		if _, err := os.ReadDir(r.Graph); err != nil {
			s := *s
			s.root = r.Graph
			return nil, s.unreadable(err)
		}
		graph, err := filepath.Glob(filepath.Join(globEscape(r.Graph), "*-containers", "*", "userdata"))
		for i, dir := range graph {
			graph[i] = r.Run + strings.TrimPrefix(dir, r.Graph)
		}
		return graph, err
	}
	s.load = func(dir string) (Target, error) {
		kept := r.Graph + strings.TrimPrefix(dir, r.Run)
		var config bundleConfig
		if err := readJSON(filepath.Join(kept, "config.json"), &config); err != nil {
			// CRI-O has config.json in both.
			if err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil {
				return Target{}, err
			}
		}
		t := Target{Kind: Container, Engine: Podman, ID: filepath.Base(filepath.Dir(dir)), State: "exited"}
		pid, err := readPID(filepath.Join(dir, s.file))
		if err != nil {
			return t, err
		}
		var ticks uint64
		if config.Annotations[annotationManager] == "cri-o" {
			t.Engine = CRIO
			var state struct {
				PID   int    `json:"initPid"`
				Start string `json:"initStartTime"`
			}
			if err := readJSON(filepath.Join(kept, "state.json"), &state); err == nil && state.PID == pid {
				// Versions before 1.20 don't write it.
				ticks, _ = strconv.ParseUint(state.Start, 10, 64)
			}
		} else {
			t.Name, t.Image = names.of(t.ID, filepath.Dir(filepath.Dir(kept)))
			t.Partial = f.opt.Podman == nil
		}
		config.describe(&t)
		// A pod's labels are its sandbox's.
		if id := config.Annotations[annotationCRIOSandbox]; id != "" && id != t.ID {
			var sandbox bundleConfig
			if readJSON(filepath.Join(filepath.Dir(filepath.Dir(kept)), filepath.Base(id), "userdata", "config.json"), &sandbox) == nil {
				var labels map[string]string
				_ = json.Unmarshal([]byte(sandbox.Annotations[annotationCRIOLabels]), &labels)
				t.addLabels(labels)
			}
		}
		err = f.run(&t, pid, ticks)
		return t, err
	}
	s.ours = func(t Target) bool {
		// Podman's daemon knows more. Its event comes later, so it is asked at once: see hinted.
		return t.Engine != Podman || !f.tells(Podman)
	}
	if f.opt.Podman != nil {
		s.label = f.labelPodman
	}
	return &storage{s, r}
}

// storage is the source of a Storage.
type storage struct {
	*tree
	at Storage
}

// storageNames are the names in containers.json.
type storageNames struct {
	mu sync.Mutex
	// at is the modification time of the file that known was read from.
	at    time.Time
	known map[string]storageName
}

type storageName struct{ name, image string }

// of returns a container's name and image. dir is the folder with containers.json.
func (n *storageNames) of(id, dir string) (name, image string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	path := filepath.Join(dir, "containers.json")
	st, err := os.Stat(path)
	if err != nil {
		return "", ""
	}
	if n.known == nil || !st.ModTime().Equal(n.at) {
		n.known, n.at = map[string]storageName{}, st.ModTime()
		for _, file := range []string{path, filepath.Join(dir, "volatile-containers.json")} {
			var all []struct {
				ID       string   `json:"id"`
				Names    []string `json:"names"`
				Metadata string   `json:"metadata"`
			}
			if readJSON(file, &all) != nil {
				continue
			}
			for _, c := range all {
				var m struct {
					Image string `json:"image-name"`
				}
				_ = json.Unmarshal([]byte(c.Metadata), &m)
				n.known[c.ID] = storageName{first(append(c.Names, c.ID)...), m.Image}
			}
		}
	}
	k := n.known[id]
	return k.name, k.image
}

// labelPodman adds the labels of Podman's containers. Only Podman's database has them, so it asks the program.
func (f *Finder) labelPodman(ctx context.Context, ts []Target) {
	argv := []string{"ps", "--no-trunc", "--format", "json"}
	for _, t := range ts {
		if t.Engine == Podman {
			argv = append(argv, "--filter", "id="+t.ID)
		}
	}
	if len(argv) == 4 {
		return
	}
	if len(argv) > 4+2*64 {
		argv = argv[:4]
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	out, err := f.opt.Podman(ctx, argv...)
	var known []struct {
		ID     string `json:"Id"`
		Labels map[string]string
	}
	if err == nil {
		err = json.Unmarshal(out, &known)
	}
	for i := range ts {
		t := &ts[i]
		if t.Engine != Podman {
			continue
		}
		if err != nil {
			t.Partial = true
			t.Notes = append(t.Notes, fmt.Sprintf("its labels are not known: podman ps: %v; start Podman's socket: systemctl start podman.socket", err))
		}
		for _, k := range known {
			if k.ID == t.ID {
				t.addLabels(k.Labels)
			}
		}
	}
}
