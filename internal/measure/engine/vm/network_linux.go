package vm

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// inOwnNetwork calls f in a network namespace of its own, which has only the address 127.0.0.1. The processes and sockets
// that f makes stay in it, and it ends with the last of them. A process that f started on its thread is killed with the
// thread. So the thread is kept until the channel that f returns is closed, unless that is nil.
func inOwnNetwork(f func() (keep <-chan struct{}, err error)) error {
	done := make(chan error, 1)
	go func() {
		// The namespace belongs to the thread, which is never unlocked and so ends with this function.
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			keep, err := enterOwnNetwork(f)
			if done <- err; keep != nil {
				<-keep
			}
			return
		}
		// The process's first thread doesn't end, and /proc/self describes it, so another thread has to do it.
		defer runtime.UnlockOSThread()
		done <- inOwnNetwork(f)
	}()
	return <-done
}

func enterOwnNetwork(f func() (<-chan struct{}, error)) (<-chan struct{}, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("make a network namespace: %w", err)
	}
	if err := turnOnLoopback(); err != nil {
		return nil, fmt.Errorf("turn on the network namespace's lo: %w", err)
	}
	return f()
}

func turnOnLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// connectPause is how long awaitServer waits between two attempts.
const connectPause = 5 * time.Millisecond

// awaitServer connects to a server in the calling thread's network as soon as it listens, unless giveUp returns an error.
func awaitServer(at netip.AddrPort, giveUp func() error) (*os.File, error) {
	for {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		err = unix.Connect(fd, &unix.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())})
		if err == nil {
			return os.NewFile(uintptr(fd), at.String()), nil
		}
		unix.Close(fd)
		if !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
		if err := giveUp(); err != nil {
			return nil, err
		}
		time.Sleep(connectPause)
	}
}

// handleFault returns an error if files of a folder can't be opened by their handles, as a server does that keeps none of
// them open.
func handleFault(folder string) error {
	handle, err := eintr.Value(func() (unix.FileHandle, error) {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, folder, 0)
		return h, err
	})
	if err != nil {
		return fmt.Errorf("name_to_handle_at %s: %w", folder, err)
	}
	at, err := eintr.Value(func() (int, error) { return unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return &os.PathError{Op: "open", Path: folder, Err: err}
	}
	defer unix.Close(at)
	fd, err := eintr.Value(func() (int, error) { return unix.OpenByHandleAt(at, handle, unix.O_PATH|unix.O_CLOEXEC) })
	if err != nil {
		return fmt.Errorf("open_by_handle_at %s: %w", folder, err)
	}
	return unix.Close(fd)
}
