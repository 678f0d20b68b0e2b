package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RemoveGroups removes the groups of a container that its runtime did not get
// to removing. name is the container's own, so that nobody else's can be meant. Processes
// that are still in them are killed: the groups are the container's.
func RemoveGroups(name string) error {
	if !strings.HasPrefix(name, FolderPrefix) || strings.ContainsAny(name, "/*?[") {
		return fmt.Errorf("%s is not a group of Plimsoll's", name)
	}
	var left []string
	// v1 has a hierarchy for each controller, v2 one at the root or in unified.
	for _, pattern := range []string{"/sys/fs/cgroup/" + name, "/sys/fs/cgroup/*/" + name} {
		found, _ := filepath.Glob(pattern)
		left = append(left, found...)
	}
	var errs []error
	for _, dir := range left {
		errs = append(errs, removeGroup(dir))
	}
	return errors.Join(errs...)
}

// removeGroup removes one group, for which a process that was just killed may
// have to be gone first.
func removeGroup(dir string) error {
	var err error
	for range 40 {
		// A container that hung while it started is known to nobody but its group.
		if b, rerr := os.ReadFile(filepath.Join(dir, "cgroup.procs")); rerr == nil {
			for pid := range strings.FieldsSeq(string(b)) {
				if n, aerr := strconv.Atoi(pid); aerr == nil && n > 1 {
					syscall.Kill(n, syscall.SIGKILL)
				}
			}
		}
		err = syscall.Rmdir(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	return fmt.Errorf("remove group %s: %w", dir, err)
}
