package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"plimsoll/internal/provide/plugin"
)

// apartName is set in the environment of tests that have mounts of their own.
const apartName = "PLIMSOLL_TEST_APART"

// TestMain runs the tests in a mount namespace with a folder of plugins of its own. Each Docker daemon of the machine looks into that folder, and remembers
// a driver that it has asked once: each of its volumes would then wait 15 s for the driver of a test that has ended.
func TestMain(m *testing.M) {
	if os.Geteuid() == 0 && os.Getenv(apartName) == "" {
		fmt.Fprintln(os.Stderr, "tests without mounts of their own:", apart())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// apart becomes this program again, with mounts of its own. It returns only if that fails.
func apart() error {
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const script = `mkdir -p "$PLUGINS" && mount -t tmpfs -o mode=755 none "$PLUGINS" && exec "$0" "$@"`
	args := append([]string{"unshare", "--mount", "--propagation", "slave", "sh", "-c", script, self}, os.Args[1:]...)
	return syscall.Exec(unshare, args, append(os.Environ(), apartName+"=1", "PLUGINS="+filepath.Dir(plugin.Socket)))
}
