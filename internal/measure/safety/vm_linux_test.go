package safety

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/testkit/workertest"
)

// testMachine makes the engine of virtual machines with one kind of share. It skips where package vm's tests do.
func testMachine(t *testing.T, share, cache string) engine.Engine {
	t.Helper()
	if os.Getenv("PLIMSOLL_TEST_VM") == "" {
		t.Skip("virtual machines are booted by make test-guest")
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kernel := filepath.Join(dir, "plimsoll/guest/vmlinux")
	if _, err := os.Stat(kernel); err != nil {
		t.Skip("the tests' kernel is needed: scripts/guest fetches it")
	}
	return vm.New(vm.Options{
		State: t.TempDir(), Worker: workertest.Source(t), LookPath: exec.LookPath, Accel: vm.AccelTCG, Kernel: kernel, CPUs: 1, Share: share, ShareCache: cache,
	})
}
