package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ociRuntimes are tried in this order: crun starts a container in a third of
// runc's time, but Debian 12's refuses hosts with hybrid cgroups.
var ociRuntimes = []string{"crun", "runc"}

// An ociRuntime is an installed runtime.
type ociRuntime struct {
	path string
	// root is where it keeps the state of Plimsoll's containers, apart from
	// anyone else's.
	root string
	// version is its name and version: "runc 1.1.5".
	version string
}

// run is the command line that runs bundle b as container id.
func (r *ociRuntime) run(b *bundle, id string) []string {
	return []string{r.path, "--root", r.root, "run", "--bundle", b.dir, "--pid-file", b.pidFile(), id}
}

// knows reports whether the runtime has state of the container.
func (r *ociRuntime) knows(id string) bool {
	_, err := os.Stat(filepath.Join(r.root, id))
	return err == nil
}

// remove kills and forgets a container. It is no error that there is none.
func (r *ociRuntime) remove(ctx context.Context, id string) error {
	if !r.knows(id) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, r.path, "--root", r.root, "delete", "--force", id).CombinedOutput()
	if err != nil && r.knows(id) {
		return fmt.Errorf("remove container %s: %w: %s", id, err, firstLine(string(out)))
	}
	return nil
}

// ociVersion asks a runtime for its name and version: the first line of --version is
// "runc version 1.1.5+ds1" or "crun version 1.8.1".
func ociVersion(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	name := filepath.Base(path)
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		return name
	}
	f := strings.Fields(firstLine(string(out)))
	if len(f) >= 3 && f[1] == "version" {
		return name + " " + f[2]
	}
	return name
}

// runtimeWords finds in a runtime's output why it gave up. runc warns of what
// follows from the fault before it names it, in logrus's text format:
//
//	time="..." level=error msg="runc run failed: ..."
func runtimeWords(log string) string {
	words := firstLine(log)
	for line := range strings.Lines(log) {
		_, msg, ok := strings.Cut(line, "level=error msg=")
		if !ok {
			continue
		}
		if q, err := strconv.QuotedPrefix(msg); err == nil {
			msg, _ = strconv.Unquote(q)
		}
		words = firstLine(msg)
	}
	return words
}
