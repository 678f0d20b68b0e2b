package docker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/killtest"
)

// killedLife opens a session with two folders of the user's. The daemon's address and the worker are files beside its state folder.
var killedLife = enginetest.Life{
	Name: "docker",
	New: func(state string) (engine.Engine, error) {
		beside := filepath.Dir(state)
		host, err := os.ReadFile(filepath.Join(beside, "host"))
		worker := func(string, string) ([]byte, error) { return os.ReadFile(filepath.Join(beside, "worker")) }
		return New(Options{Host: string(host), StateDir: state, Worker: worker}), err
	},
	Spec: engine.Spec{Place: place.Spec{Name: "data", Kind: place.Bind}, Source: &place.Spec{Name: "sources", Kind: place.Bind}},
	// The daemon has the containers of all lives.
	Shared: true,
}

func init() { killedLife.Register() }

// testDockerKilledWriter: a process with a session is killed at each call that makes or removes a file: the session's records and folders. The next
// start finds all that it has made, and removes it.
func testDockerKilledWriter(t *testing.T, l *labDaemon) {
	if l.podman {
		return // The records are the same, and KilledOwner shows what is Podman's.
	}
	worker := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(worker, l.worker, 0o755); err != nil {
		t.Fatal(err)
	}
	killed := killtest.Test{
		Name:  killedLife.Name,
		Kinds: []string{"docker-session"},
		Calls: []string{"renameat", "mkdirat", "unlinkat"},
		Before: func(t *testing.T, dir string) {
			if err := errors.Join(os.Symlink(worker, filepath.Join(dir, "worker")), os.WriteFile(filepath.Join(dir, "host"), []byte(l.d.Host), 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		After: func(t *testing.T, dir, at, _ string) {
			killedLife.After(t, dir, at)
			l.wantNothing(t, enginetest.SessionOf(dir))
		},
	}.Run(t)
	if killed < 8 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}
