// Package workertest builds the worker for tests, so that they use the users' worker, whether or not make has built it before.
package workertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var (
	mu    sync.Mutex
	built = map[string][]byte{}
)

// EnvDir names a folder of built workers, one GOOS-GOARCH each, for a machine without a go command.
const EnvDir = "PLIMSOLL_TEST_WORKERS"

// Source returns the worker for a system, as workerbin.Bytes does. The first call for a system builds it with the go command, unless
// EnvDir has it.
func Source(t testing.TB) func(goos, goarch string) ([]byte, error) {
	t.Helper()
	return func(goos, goarch string) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		key := goos + "/" + goarch
		if b := built[key]; b != nil {
			return b, nil
		}
		if dir := os.Getenv(EnvDir); dir != "" {
			return os.ReadFile(filepath.Join(dir, goos+"-"+goarch))
		}
		dir, err := os.MkdirTemp("", "plimsoll-worker-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "worker")
		cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "plimsoll/cmd/worker")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the worker: %w: %s", err, out)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		built[key] = b
		return b, nil
	}
}
