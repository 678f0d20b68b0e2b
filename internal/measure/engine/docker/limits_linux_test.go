package docker

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/docker/go-units"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/wire"
)

// TestDockerUlimits: of the limits that a container is started with, one that the daemon may not give
// is left out and the others are kept.
func TestDockerUlimits(t *testing.T) {
	const (
		memlock = "error during container init: error setting rlimit type 8: operation not permitted"
		nproc   = "error setting rlimits for ready process: error setting rlimit type 6: operation not permitted"
		nofile  = "crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied"
	)
	names := func(all []*units.Ulimit) (out string) {
		for _, u := range all {
			out += u.Name + " "
			if u.Name == ulimitNofile && u.Soft != u.Hard {
				t.Errorf("%+v: the soft limit is another than the hard one", u)
			}
		}
		return out
	}
	for _, row := range []struct {
		refusals []string
		want     string
	}{
		{nil, "memlock nofile "},
		{[]string{memlock}, ""}, // Who may not raise the one may raise neither.
		{[]string{nofile}, "memlock "},
		{[]string{nofile, memlock}, ""},
		{[]string{"a rlimit that has no name here"}, "memlock "},
		{[]string{memlock, nproc}, "nofile nproc "}, // Instead of what Podman asks for on its own.
		{[]string{memlock, nproc, nproc}, "nofile nproc "},
	} {
		e := &Engine{}
		for _, words := range row.refusals {
			tried, _ := e.limits()
			if !e.tryLimits(errors.New(words), tried) {
				t.Errorf("%q: there is nothing else to try after %q", row.refusals, words)
			}
		}
		tried, got := e.limits()
		if names(got) != row.want {
			t.Errorf("after %q: %q, want %q", row.refusals, names(got), row.want)
		}
		if e.tryLimits(errors.New("no such image"), tried) {
			t.Error("what is no refusal of a limit is tried again")
		}
	}
	n, root := nofileUlimit(), os.Geteuid() == 0
	if root && n.Hard != engine.OpenFiles() {
		t.Errorf("a daemon is asked for %d open files, want root's own %d", n.Hard, engine.OpenFiles())
	}
	if !root && n.Hard < wire.OpenFiles {
		t.Errorf("a daemon is asked for %d open files, want %d at least for a plain user", n.Hard, wire.OpenFiles)
	}
	gone, vanished := fmt.Errorf("connect to the container: %w", errVanished), -1
	e := &Engine{}
	for i, want := range []int{0, 1, 1, 2} {
		tried, _ := e.limits()
		if !e.again(gone, tried, &vanished) {
			t.Fatalf("a container that vanished is not started again (%d)", i)
		}
		if got, _ := e.limits(); got != want {
			t.Errorf("after %d that vanished: set %d, want %d", i+1, got, want)
		}
	}
	last := &Engine{limitsTried: len(ulimitSets) - 1}
	if last.tryLimits(errors.New(nofile), last.limitsTried) {
		t.Error("the last set is tried twice")
	}
}
