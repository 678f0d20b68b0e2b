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

// RemoveGroups removes the control groups of a container that its runtime did not remove. It kills processes that are still
// in them. name is the container's own name, so no other group can be meant.
func RemoveGroups(name string) error {
	if !strings.HasPrefix(name, FolderPrefix) || strings.ContainsAny(name, "/*?[") {
		return fmt.Errorf("%s is not one of Plimsoll's groups", name)
	}
	var left []string
	// Version 1 has a hierarchy for each controller; version 2 has one, at the root or in unified.
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

// removeGroup removes one group. A process in it that was just killed may first have to end.
func removeGroup(dir string) error {
	var err error
	for range 40 {
		// If a container hung while it started, only its group knows its processes.
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
