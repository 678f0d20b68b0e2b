package target

import (
	"context"
	"fmt"
	"path/filepath"
)

// A ContainerdRoot says where one containerd keeps its state and listens.
type ContainerdRoot struct {
	// State is its folder of data for this boot: /run/containerd.
	State string
	// Address is the path of its socket, /run/containerd/containerd.sock. Only the socket has labels. It may be empty.
	Address string
}

// dockersNamespace is containerd's namespace of Docker's containers.
const dockersNamespace = "moby"

// taskFolder has a folder for each namespace, and that one for each task: the bundle, with config.json and init.pid (containerd,
// core/runtime/v2/bundle.go and cmd/containerd-shim-runc-v2/process/init.go).
const taskFolder = "io.containerd.runtime.v2.task"

// containerdTree returns the tree of a containerd's tasks.
func (f *Finder) containerdTree(r ContainerdRoot) *tree {
	s := &tree{f: f, name: "containerd", root: filepath.Join(r.State, taskFolder), levels: []string{"*", "*"}, file: "init.pid", of: []Engine{Containerd}}
	s.load = func(dir string) (Target, error) {
		var config bundleConfig
		if err := readJSON(filepath.Join(dir, "config.json"), &config); err != nil {
			return Target{}, err
		}
		t := Target{Kind: Container, Engine: Containerd, Namespace: filepath.Base(filepath.Dir(dir)), ID: filepath.Base(dir), State: "stopped"}
		// Only Docker knows the name that it gave the container, and the labels.
		t.Partial = t.Namespace == dockersNamespace
		config.describe(&t)
		pid, err := readPID(filepath.Join(dir, s.file))
		if err != nil {
			return t, err
		}
		if pid == 0 {
			t.Notes = append(t.Notes, "containerd reports no process of it: it has not begun yet, or its runtime keeps it in a virtual machine; then name the machine's group: cgroup:PATH")
		}
		err = f.run(&t, pid, 0)
		return t, err
	}
	s.ours = func(t Target) bool { return t.Namespace != dockersNamespace }
	if r.Address != "" {
		s.label = func(ctx context.Context, ts []Target) { labelContainerd(ctx, r.Address, ts) }
	}
	return s
}

// labelContainerd adds facts that only the daemon knows: labels, and those of a container's pod, which are the sandbox's.
func labelContainerd(ctx context.Context, address string, ts []Target) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c := newContainerdClient(address)
	defer c.close()
	type known struct {
		byID map[string]containerdContainer
		err  error
	}
	namespaces := map[string]known{}
	for i := range ts {
		t := &ts[i]
		k, ok := namespaces[t.Namespace]
		if !ok {
			k.byID, k.err = c.containers(ctx, t.Namespace)
			namespaces[t.Namespace] = k
		}
		if k.err != nil {
			t.Partial = true
			t.Notes = append(t.Notes, fmt.Sprintf("its labels are not known: %v", k.err))
			continue
		}
		own := k.byID[t.ID]
		sandbox := t.Labels[annotationCRISandbox]
		t.addLabels(k.byID[sandbox].labels)
		t.addLabels(own.labels)
		t.Image = first(t.Image, own.image)
		if name := own.labels[annotationNerdctlName]; name != "" {
			t.Name = name
		}
	}
}
