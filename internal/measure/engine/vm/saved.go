package vm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/state/filelock"
)

// A machine that has booted is saved once, before it gets its setup. Later machines of its kind resume from there: they
// load the modules of their place, and mount it, themselves. So the saved machine holds nothing of any disk or share. It
// has 70 MB.

// maxSaved is how many saved machines are kept: the last ones used.
const maxSaved = 6

// savedPath is the path for saving a machine of the same kind as spec's; empty if such a machine can't be saved, as with
// virtiofsd, which keeps state that QEMU doesn't have.
func (v *Engine) savedPath(b *bootFiles, accel string, spec engine.Spec) string {
	devices := ""
	for _, p := range spec.Places() {
		switch {
		case p.Kind == place.Bind && v.Share == ShareVirtioFS:
			return ""
		case p.Kind == place.Bind:
			devices += " " + cmp.Or(v.Share, Share9P)
		case p.Kind != place.Tmpfs: // A machine that is only tried.
			devices += " " + string(p.Kind)
		}
	}
	if v.Boot {
		return ""
	}
	st, err := os.Stat(b.qemu)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Append(nil, b.qemu, b.version, st.Size(), st.ModTime().UnixNano(), b.image, b.initrd, b.modules, kernelWords,
		accel, v.cpusOf(), v.memoryOf(spec), devices))
	return filepath.Join(v.cacheDir(), savedNow()+hex.EncodeToString(sum[:8]))
}

// savedPrefix begins the names of saved machines.
const savedPrefix = "saved-"

// savedNow begins the names of machines that were saved since this computer was booted: after a boot the processor's clock
// and features may differ.
func savedNow() string {
	sum := sha256.Sum256([]byte(procfs.Boot("/proc")))
	return savedPrefix + hex.EncodeToString(sum[:4]) + "-"
}

// save saves a machine that waits for its setup, if it can be. An error of the file only costs time at the next start.
func (s *session) save(ctx context.Context, path string) error {
	var stopped *stoppedError
	err := filelock.Write(path, savedPrefix, func(f *os.File) error { return s.monitor.save(ctx, f) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.As(err, &stopped) {
		return err
	}
	if err == nil {
		s.vm.dropSaved()
	}
	return nil
}

// openSaved opens a saved machine, nil if there is none, and notes that it was used.
func (v *Engine) openSaved(path string) *os.File {
	if path == "" || !ours(path) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	v.touch(path)
	return f
}

// dropFile removes a saved machine that was opened and is of no use. It is no error if another process has removed or
// replaced it.
func dropFile(f *os.File) error {
	used, err := f.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Lstat(f.Name()); err != nil || !os.SameFile(used, there) {
		return nil
	}
	if err := os.Remove(f.Name()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// dropSaved removes the saved machines of earlier boots, and of this boot those that were unused for the longest time.
func (v *Engine) dropSaved() {
	now := savedNow()
	v.dropCached(savedPrefix, func(name string, rank int, _ time.Time) bool {
		return strings.HasPrefix(name, now) && rank < maxSaved
	})
}
