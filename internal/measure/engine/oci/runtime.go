package oci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/measure/engine"
)

// runtimeNames are tried in this order: crun starts a container in a third of runc's time, but Debian 12's refuses hosts
// with hybrid cgroups.
var runtimeNames = []string{"crun", "runc"}

// An installedRuntime is an installed runtime.
type installedRuntime struct {
	path string
	// root is the runtime's folder for the state of Plimsoll's containers, apart from all others.
	root string
	// version is its name and version: "runc 1.1.5".
	version string
}

// run is the command line that runs bundle b as container id.
func (r *installedRuntime) run(b *bundle, id string) []string {
	return []string{r.path, "--root", r.root, "run", "--bundle", b.dir, "--pid-file", b.pidFile(), id}
}

// knows reports whether the runtime has state of the container.
func (r *installedRuntime) knows(id string) bool {
	_, err := os.Stat(filepath.Join(r.root, id))
	return err == nil
}

// remove kills a container and deletes its state; a missing container is no error. If the runtime was uninstalled
// meanwhile, remove deletes its state, and the caller kills the container through its cgroup.
func (r *installedRuntime) remove(ctx context.Context, id string) error {
	if !r.knows(id) {
		return nil
	}
	if _, err := os.Stat(r.path); errors.Is(err, os.ErrNotExist) {
		return os.RemoveAll(filepath.Join(r.root, id))
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var out engine.FirstBytes
	cmd := engine.Command(ctx, r.path, "--root", r.root, "delete", "--force", id)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && r.knows(id) {
		return fmt.Errorf("remove container %s: %w: %s", id, err, engine.FirstLine(string(out.Kept)))
	}
	return nil
}

// bury removes a container of a plimsoll that was killed. If its runtime is gone or not trusted, it deletes the runtime's
// state, and the caller kills the container through its cgroup.
func (r *installedRuntime) bury(ctx context.Context, id string) error {
	if !r.knows(id) {
		return nil
	}
	path, err := engine.TrustedProgram(r.path)
	if err != nil {
		return os.RemoveAll(filepath.Join(r.root, id))
	}
	r.path = path
	return r.remove(ctx, id)
}

// versionOf asks a runtime, called name, for its version: the first line of --version is "runc version 1.1.5+ds1" or "crun
// version 1.8.1". If ctx is over before the runtime answers, it returns the context's error.
func versionOf(ctx context.Context, path, name string) (string, error) {
	cmd := engine.Command(ctx, path, "--version")
	out := engine.FirstBytes{Enough: true}
	cmd.Stdout = &out
	if cmd.Run() != nil && ctx.Err() != nil {
		return name, ctx.Err()
	}
	f := strings.Fields(engine.FirstLine(string(out.Kept)))
	if len(f) >= 3 && f[1] == "version" {
		return name + " " + f[2], nil
	}
	return name, nil
}
