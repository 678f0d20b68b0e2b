package watch

import "golang.org/x/sys/unix"

// The system calls that wait for asynchronous I/O.
const (
	callGetevents  = unix.SYS_IO_GETEVENTS
	callPgetevents = unix.SYS_IO_PGETEVENTS
	callUringEnter = unix.SYS_IO_URING_ENTER
)
