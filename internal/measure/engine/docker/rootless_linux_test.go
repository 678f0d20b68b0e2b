package docker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/moby/api/types/system"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/text/refusal"
)

// nobody is a user without any rights of its own.
const nobody = 65534

// TestDockerRootless: with another user's Podman every place works: the folder of a bind place
// belongs to the root of the containers, who is that user. A folder that the user can't
// reach is refused with the reason.
func TestDockerRootless(t *testing.T) {
	t.Parallel()
	l := newDockerLab(t, dockertest.Podman(t, dockertest.PodmanOptions{User: nobody}))
	l.podman = true
	e := l.engine(nil)
	if p := e.Probe(t.Context()); !p.OK {
		t.Fatalf("Probe() = %+v", p)
	}
	// A test's temporary folder lies below one that only its owner may enter.
	parent, err := os.MkdirTemp("", "plimsoll-test-bind-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(parent); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kind := range places {
		spec := engine.Spec{Place: place.Spec{Name: string(kind), Kind: kind}}
		if kind == place.Bind {
			spec.Place.Path = parent
		}
		s := l.open(t, e, spec)
		if got := s.say(t, "write 100"); got != "ok" {
			t.Errorf("%s: write = %s", kind, got)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Errorf("%s: Close() = %v", kind, err)
		}
	}
	closed := filepath.Join(parent, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(closed)
	var u *refusal.Error
	if _, err := e.Open(t.Context(), engine.Spec{ID: testID(), Place: place.Spec{Name: "bind", Kind: place.Bind, Path: closed}}); !errors.As(err, &u) || u.Fix == "" {
		t.Errorf("Open() in a folder that only root may enter = %v, want Unsupported with a fix", err)
	}
	if left, _ := os.ReadDir(closed); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestDockerRoot(t *testing.T) {
	for _, row := range []struct {
		dir      string
		options  []string
		uid, gid int
	}{
		{"/var/lib/docker", nil, 0, 0},
		{"/var/lib/docker/100000.100001", []string{"name=seccomp,profile=default", "name=userns"}, 100000, 100001},
		{"/var/lib/docker/100000.100001", nil, 0, 0},
		{"/var/lib/docker", []string{"name=userns"}, 0, 0},
	} {
		d := &daemonInfo{dockerapi.Daemon{Info: system.Info{DockerRootDir: row.dir, SecurityOptions: row.options}}}
		if uid, gid := containerRoot("tcp://far:1", d); uid != row.uid || gid != row.gid {
			t.Errorf("containerRoot(%s, %v) = %d, %d, want %d, %d", row.dir, row.options, uid, gid, row.uid, row.gid)
		}
	}
}
