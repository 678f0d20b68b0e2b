package oci

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/workertest"
)

// killedLife opens a session with two folders of the user's in a container with a limit. Its worker is the file beside its state folder.
var killedLife = enginetest.Life{
	Name: "oci",
	New: func(state string) (engine.Engine, error) {
		o := New(state, func(string, string) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(state), "worker")) }, exec.LookPath).(*Engine)
		// Without the container that tries the runtime.
		runc, err := exec.LookPath("runc")
		o.chosen = map[string]*installedRuntime{"": {path: runc, root: filepath.Join(state, "oci", "state"), version: "runc"}}
		return o, err
	},
	Spec: engine.Spec{
		Place: place.Spec{Name: "data", Kind: place.Bind}, Source: &place.Spec{Name: "sources", Kind: place.Bind},
		Limits: limit.Limits{Memory: 256 << 20},
	},
}

func init() { killedLife.Register() }

// TestKilled: a process with a container is killed at each call by which it changes something. The next start finds all that it has made, and removes it.
func TestKilled(t *testing.T) {
	enginetest.NeedRoot(t)
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("runc is needed")
	}
	worker := sync.OnceValues(func() (string, error) {
		b, err := workertest.Source(t)("linux", runtime.GOARCH)
		if err != nil {
			return "", err
		}
		path := filepath.Join(t.TempDir(), "worker")
		return path, os.WriteFile(path, b, 0o755)
	})
	t.Parallel()
	killed := killtest.Test{
		Name:  killedLife.Name,
		Kinds: []string{"oci-session"},
		Calls: []string{"renameat", "unlinkat"},
		Before: func(t *testing.T, dir string) {
			path, err := worker()
			if err == nil {
				err = os.Symlink(path, filepath.Join(dir, "worker"))
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		After: func(t *testing.T, dir, at, _ string) { killedLife.After(t, dir, at, "state/cache/worker-") },
	}.Run(t)
	if killed < 15 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}
