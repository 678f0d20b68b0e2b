package watch

import "golang.org/x/sys/unix"

// olderEventCalls don't exist on newer architectures.
var olderEventCalls = []int{unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_SELECT}
