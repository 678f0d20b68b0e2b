package filesystem

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/text/refusal"
)

// thawer waits for a line, and thaws the file system of its descriptor 3 if the pipe ends without one.
const thawer = `read -r line || exec fsfreeze --unfreeze /proc/self/fd/3`

// Freeze flushes the file system of an open file or folder, and holds every write to it until thaw is called. The kernel would hold
// them for ever if this process were killed meanwhile. So a second process waits for its end and thaws (fsfreeze(8)).
func Freeze(f *os.File) (thaw func() error, err error) {
	if _, err := exec.LookPath("fsfreeze"); err != nil {
		return nil, &refusal.Error{What: "freezing " + f.Name(), Why: "fsfreeze is not installed", Fix: "install util-linux"}
	}
	guard := exec.Command("sh", "-c", thawer)
	guard.ExtraFiles = []*os.File{f}
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // A Ctrl-C at the terminal must not end it.
	alive, err := guard.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := guard.Start(); err != nil {
		return nil, fmt.Errorf("start the process that thaws: %w", err)
	}
	release := func() error {
		_, err := io.WriteString(alive, "\n")
		return errors.Join(err, alive.Close(), guard.Wait())
	}
	if err := call(f, fiFreeze, nil); err != nil {
		err = &os.PathError{Op: "freeze", Path: f.Name(), Err: err}
		return nil, errors.Join(err, release())
	}
	return func() error {
		if err := Thaw(f); err != nil {
			// The guard tries once more: its pipe ends without a line.
			return errors.Join(err, alive.Close(), guard.Wait())
		}
		return release()
	}, nil
}

// Thaw ends a Freeze, also one of another process. If the file system isn't frozen, nothing happens.
func Thaw(f *os.File) error {
	if err := call(f, fiThaw, nil); err != nil && !errors.Is(err, unix.EINVAL) {
		return &os.PathError{Op: "thaw", Path: f.Name(), Err: err}
	}
	return nil
}
