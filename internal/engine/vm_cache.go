package engine

import (
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/filelock"
)

// vmCache is the folder in which machines' kernels, first root file systems and saved states are kept.
func (v *vm) vmCache() string { return filepath.Join(v.State, "cache", "vm") }

// ownCache makes the cache's folder, and refuses one that somebody else may write to. What is in there is run: a kernel, the guest's first
// program, and a saved machine, which QEMU reads as this user, and whose root writes to this user's shared folders.
func (v *vm) ownCache() error {
	dir := v.vmCache()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := onlyOurs(dir, st); err != nil {
		return v.no("virtual machine", fmt.Sprintf("others could exchange the machines that are kept in the state folder: %v", err), "or name another state folder with --state")
	}
	return nil
}

// ours reports whether a file of the cache is one that only this user, or root, has written: whoever might once write to the folder
// may have left others.
func ours(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode().IsRegular() && onlyOurs(path, st) == nil
}

// cachePrefixes begin the names of the files in the cache, behind a dot while they are written.
var cachePrefixes = []string{savedPrefix, "kernel-", "initramfs-"}

// sweepCache removes what a plimsoll that was killed had not written to its end: 70 MB of a machine, as a rule.
func (v *vm) sweepCache() (removed []string, err error) {
	for _, prefix := range cachePrefixes {
		files, err := filelock.Sweep(v.vmCache(), prefix)
		for _, f := range files {
			removed = append(removed, "file "+f)
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
