package watch

import "golang.org/x/sys/unix"

// The system calls that wait for asynchronous I/O.
const (
	callGetevents  = unix.SYS_IO_GETEVENTS
	callPgetevents = unix.SYS_IO_PGETEVENTS
	callUringEnter = unix.SYS_IO_URING_ENTER
	callRead       = unix.SYS_READ
)

// eventCalls wait for events of files, eventfds among them.
var eventCalls = append([]int{unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_PPOLL, unix.SYS_PSELECT6}, olderEventCalls...)
