package docker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/refusal"
)

// checkRuntime refuses a runtime that the daemon doesn't have: runc and crun under names of its own, kata-runtime for a
// virtual machine, runsc for gVisor. A daemon can also start runtimes that it doesn't list, containerd shims by their name
// or path (https://docs.docker.com/engine/daemon/alternative-runtimes/); these it refuses itself, see runtimeErr.
func checkRuntime(spec engine.Spec, d *daemonInfo) error {
	name := spec.Runtime
	switch {
	case name == "":
		return nil
	case d.windows():
		return &refusal.Error{Engine: "docker", What: "runtime " + name, Why: "a daemon with Windows containers has no choice of runtimes", Fix: "leave runtime out; isolation sets how a container is isolated there"}
	case len(d.Info.Runtimes) == 0 || strings.ContainsAny(name, "./"):
		return nil
	}
	if _, ok := d.Info.Runtimes[name]; ok {
		return nil
	}
	return noRuntime(name, d)
}

// noRuntime is the error that the daemon has no such runtime, with the list of those it has.
func noRuntime(name string, d *daemonInfo) error {
	fix := "install it, name it under \"runtimes\" in the daemon's daemon.json, and restart the daemon"
	if d.Name == "podman" {
		fix = "install it, and name it under [engine.runtimes] in containers.conf"
	}
	return &refusal.Error{Engine: "docker", What: "runtime " + name, Why: fmt.Sprintf("the daemon does not know it (it has %s)", strings.Join(slices.Sorted(maps.Keys(d.Info.Runtimes)), ", ")), Fix: fix}
}

// runtimeWords are parts of the error for a missing runtime: of Docker 20.10 and current ones, of containerd without the
// shim, and of Podman.
var runtimeWords = []string{"Unknown runtime specified", "unknown or invalid runtime name", "unknown runtime", "runtime \"", "containerd-shim", "default OCI runtime"}

// runtimeErr recognizes the error of a missing runtime.
func runtimeErr(err error, spec engine.Spec, d *daemonInfo) error {
	if err == nil || spec.Runtime == "" {
		return err
	}
	missing := slices.ContainsFunc(runtimeWords[:3], func(w string) bool { return strings.Contains(err.Error(), w) })
	gone := slices.ContainsFunc(runtimeWords[3:], func(w string) bool { return strings.Contains(err.Error(), w) }) &&
		slices.ContainsFunc([]string{"not found", "no such file", "not installed"}, func(w string) bool { return strings.Contains(err.Error(), w) })
	if missing || gone {
		return noRuntime(spec.Runtime, d)
	}
	return fmt.Errorf("with the runtime %s: %w", spec.Runtime, err)
}
