package dockertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/ownertest"
)

// notes name the folders of the daemons, and Podman's shared group, so that a later process can remove those of a killed one.
var notes = ownertest.Notes{Kind: "dockertest", Remove: removeKilled}

// removeKilled removes what a killed process noted.
func removeKilled(what string) error {
	if what == podmanCgroup {
		return removeShared()
	}
	base := filepath.Base(what)
	if filepath.Clean(what) != what || !filepath.IsAbs(what) || !strings.HasPrefix(base, folderPrefix) {
		return fmt.Errorf("%q is not a daemon's folder", what)
	}
	// The kernel signals the daemon when the test's process ends. The daemon may take a while to stop.
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		pids := pidsNaming(what, isDaemon)
		if len(pids) == 0 {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("the daemons %v of %s do not end", pids, what)
		}
		for _, pid := range pids {
			unix.Kill(pid, unix.SIGKILL)
		}
	}
	// A Podman's containers have groups by their ids, which its storage lists.
	containers, err := filepath.Glob(filepath.Join(what, "root", "overlay-containers", "[0-9a-f]*"))
	if err != nil {
		return err
	}
	for _, c := range containers {
		group := filepath.Join(podmanCgroup, "libpod-"+filepath.Base(c))
		killBelow(what, group)
		removeCgroups(group)
	}
	return (&Daemon{Dir: what, CgroupParent: "/" + base, pause: pauseFile(what)}).clean()
}

func isDaemon(comm string) bool {
	return slices.Contains([]string{"dockerd", "containerd", "podman"}, strings.TrimSpace(comm))
}

// removeShared removes Podman's shared group in each hierarchy, unless another Podman has a group in it.
func removeShared() error {
	groups, err := filepath.Glob("/sys/fs/cgroup/*" + podmanCgroup)
	if err != nil {
		return err
	}
	for _, g := range append(groups, "/sys/fs/cgroup"+podmanCgroup) {
		if err := os.Remove(g); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return nil
}
