package vm

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/state/filelock"
)

// cacheDir is the folder for machines' kernels, first root file systems and saved states.
func (v *Engine) cacheDir() string { return filepath.Join(v.State, "cache", "vm") }

// ownCache makes the cache's folder, and refuses one that other users may write to. Its files are run: a kernel, the
// guest's first program, and saved machines, which QEMU reads as this user and whose root writes to this user's shared
// folders.
func (v *Engine) ownCache() error {
	dir := v.cacheDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if err := engine.OnlyOurs(dir, st); err != nil {
		return v.no("virtual machine", fmt.Sprintf("other users could replace the saved machines in the state folder: %v", err), "or name another state folder with --state")
	}
	return nil
}

// ours reports whether only this user, or root, can have written a file of the cache: another user may once have been able
// to write to the folder.
func ours(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode().IsRegular() && engine.OnlyOurs(path, st) == nil
}

// kernelPrefix and initrdPrefix begin the names of unpacked kernels and first root file systems.
const kernelPrefix, initrdPrefix = "kernel-", "initramfs-"

// cachePrefixes begin the names of the files in the cache. The names have a dot before them while the files are written.
var cachePrefixes = []string{savedPrefix, kernelPrefix, initrdPrefix}

// maxImages is how many kernels, and first root file systems, are kept: the last ones used, and all that were used within
// imageAge, which another plimsoll may be about to boot.
const (
	maxImages = 3
	imageAge  = 24 * time.Hour
)

// dropImages removes kernels and first root file systems that were not used for long: each version of the kernel and of
// Plimsoll has its own.
func (v *Engine) dropImages() {
	for _, prefix := range []string{kernelPrefix, initrdPrefix} {
		v.dropCached(prefix, func(_ string, rank int, used time.Time) bool { return rank < maxImages || time.Since(used) < imageAge })
	}
}

// dropCached removes the files of the cache with a prefix, unless keep returns true: rank is how many kept files were used
// later. An error of removing is ignored.
func (v *Engine) dropCached(prefix string, keep func(name string, rank int, used time.Time) bool) {
	entries, _ := os.ReadDir(v.cacheDir())
	var files []fs.FileInfo
	for _, e := range entries {
		if st, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), prefix) && st.Mode().IsRegular() {
			files = append(files, st)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	kept := 0
	for _, f := range files {
		if keep(f.Name(), kept, f.ModTime()) {
			kept++
			continue
		}
		_ = os.Remove(filepath.Join(v.cacheDir(), f.Name()))
	}
}

// touch notes that files of the cache are used; it ignores other files.
func (v *Engine) touch(paths ...string) {
	now := time.Now()
	for _, p := range paths {
		if filepath.Dir(p) == v.cacheDir() {
			_ = os.Chtimes(p, now, now)
		}
	}
}

// sweepCache removes files that a killed plimsoll did not finish: usually 70 MB of a saved machine.
func (v *Engine) sweepCache() (removed []string, err error) {
	for _, prefix := range cachePrefixes {
		files, err := filelock.Sweep(v.cacheDir(), prefix)
		for _, f := range files {
			removed = append(removed, "file "+f)
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
