package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"plimsoll/internal/state/filelock"
)

// A WorkerSource returns the worker's program for an operating system and an architecture, by Go's names (workerbin.Bytes).
type WorkerSource func(goos, goarch string) ([]byte, error)

// An Installer installs workers, and remembers which. Hashing a program takes longer than all other steps of opening a
// session on the host.
type Installer struct {
	// Dir is the folder that workers are installed in, Source where they come from.
	Dir    string
	Source WorkerSource

	mu    sync.Mutex
	paths map[string]string
}

// Install returns the path of the worker for a system, installing it unless it is there.
func (i *Installer) Install(goos, goarch string) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := goos + "/" + goarch
	path := i.paths[key]
	if _, err := os.Stat(path); path == "" || err != nil || runnable(path) != nil {
		if path, err = installWorker(i.Dir, i.Source, goos, goarch); err != nil {
			return "", err
		}
	}
	// Checked each time: a file system may be mounted with other options meanwhile.
	if err := runnable(path); goos == runtime.GOOS && err != nil {
		return "", fmt.Errorf("programs can't be run from %s (%w): its file system is mounted noexec", i.Dir, err)
	}
	if i.paths == nil {
		i.paths = map[string]string{}
	}
	i.paths[key] = path
	return path, nil
}

// installWorker puts the worker's program into a folder of its own under dir, unless it exists, and returns its path. The
// folder's name has the program's hash, so that two versions of plimsoll don't disturb each other. The file is complete or
// absent.
func installWorker(dir string, source WorkerSource, goos, goarch string) (string, error) {
	b, err := source(goos, goarch)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	folder := filepath.Join(dir, "worker-"+hex.EncodeToString(sum[:8]))
	path := filepath.Join(folder, "worker")
	if goos == "windows" {
		path += ".exe"
	}
	// A file that a full disk cut short, or that was changed, is replaced.
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, b) {
		if st, err := os.Stat(path); err == nil && st.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("install the worker: %w", err)
	}
	if err := writeProgram(path, b); err != nil {
		return "", fmt.Errorf("install the worker in %s: %w", folder, err)
	}
	return path, nil
}

// writeProgram writes the file of a program, complete or not at all. A process that is forked while the file is open for
// writing inherits that until it begins its own program, and Linux doesn't run a file that is open for writing (ETXTBSY,
// golang.org/issue/22315). So no process is forked meanwhile, and the file is closed before it gets its name, since another
// Plimsoll may run it at once.
func writeProgram(path string, b []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for {
		half, err := writeHalf(path, b)
		if err != nil {
			return err
		}
		err = os.Rename(half, path)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, os.Remove(half))
		}
		// It was unlocked when it was closed, and a sweep has removed it before the rename.
	}
}

// writeHalf writes a program to a temporary file beside its path, and closes it.
func writeHalf(path string, b []byte) (half string, err error) {
	tmp, err := filelock.Create(filepath.Dir(path), "."+halfWorker+"*")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Chmod(0o755)
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return tmp.Name(), nil
}

// halfWorker begins the names of workers that are being installed, after a dot.
const halfWorker = "worker-"

// sweepWorkers removes the half-installed workers of killed processes from a state folder. Without a state folder there
// are none.
func sweepWorkers(state string) (removed []string, err error) {
	if state == "" {
		return nil, nil
	}
	cache := filepath.Join(state, "cache")
	folders, err := os.ReadDir(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range folders {
		if strings.HasPrefix(f.Name(), "worker-") {
			files, e := filelock.Sweep(filepath.Join(cache, f.Name()), halfWorker)
			removed, err = append(removed, files...), errors.Join(err, e)
		}
	}
	return removed, err
}

// Gone reports why the worker of this machine can't be run from the state folder any more. It returns nil if it can, or if
// only space is missing.
func (i *Installer) Gone(state string) error {
	_, err := i.Install(runtime.GOOS, runtime.GOARCH)
	var full *StateFullError
	if err == nil || errors.As(StateFault(state, err), &full) {
		return nil
	}
	return fmt.Errorf("the worker can't be run any more: %w; %s", err, InstallFix)
}

// InstallFix says what to do where the worker can't be installed.
const InstallFix = "use a --state folder that can be written to and that programs can be run from, and a plimsoll made with 'make build'"
