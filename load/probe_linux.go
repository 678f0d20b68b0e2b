package load

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// resultError converts the result of an I/O, if it is not its size, to an error.
func resultError(res int32) error {
	if res < 0 {
		return syscall.Errno(-res)
	}
	return io.ErrShortWrite
}

// ringError explains why io_uring_setup failed.
func ringError(errno syscall.Errno) error {
	why := errno.Error()
	switch errno {
	case unix.EPERM, unix.EACCES:
		why = forbidden("io_uring_setup")
		if v := sysctl("/proc/sys/kernel/io_uring_disabled"); v == "1" || v == "2" {
			why = "forbidden by the sysctl kernel.io_uring_disabled=" + v
		}
	case unix.ENOSYS:
		why = "the kernel has no io_uring, or a seccomp filter says so (Seccomp: " + seccompMode() + ")"
	case unix.ENOMEM:
		why = "no memory for the rings: RLIMIT_MEMLOCK is " + memlock()
	case unix.EMFILE, unix.ENFILE:
		why = "no file descriptor is left for the ring: a process may have " + openFiles() + " here (RLIMIT_NOFILE)"
	}
	return &EngineError{IOUring, why, errno}
}

// aioError explains why a call of linux-aio failed.
func aioError(call string, errno syscall.Errno) error {
	why := call + ": " + errno.Error()
	switch errno {
	case unix.EPERM, unix.EACCES:
		why = forbidden(call)
	case unix.ENOSYS:
		why = "the kernel has no " + call + ", or a seccomp filter says so (Seccomp: " + seccompMode() + ")"
	case unix.EAGAIN:
		why = fmt.Sprintf("the system's events are used up: sysctl fs.aio-max-nr=%s, in use fs.aio-nr=%s",
			sysctl("/proc/sys/fs/aio-max-nr"), sysctl("/proc/sys/fs/aio-nr"))
	case unix.ENOMEM:
		why = call + ": no memory"
	}
	return &EngineError{LinuxAIO, why, errno}
}

// forbidden explains why a system call was refused.
func forbidden(call string) string {
	if m := seccompMode(); m == "1" || m == "2" {
		return fmt.Sprintf("a seccomp filter forbids %s (Seccomp: %s in /proc/self/status)", call, m)
	}
	return call + " is forbidden, but not by seccomp: perhaps by a security module"
}

// seccompMode returns the seccomp mode of the process: 0 none, 1 strict, 2 filter.
func seccompMode() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	_, rest, ok := bytes.Cut(status, []byte("\nSeccomp:"))
	if !ok {
		return "unknown"
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(line))
}

func sysctl(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// openFiles returns the number of files that this process may have open.
func openFiles() string {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return "an unknown number"
	}
	return fmt.Sprint(lim.Cur)
}

func memlock() string {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%d bytes", lim.Cur)
}
