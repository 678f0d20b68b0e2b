package watch

import "golang.org/x/sys/unix"

// olderEventCalls are those that newer architectures lack.
var olderEventCalls = []int{unix.SYS_EPOLL_WAIT, unix.SYS_POLL, unix.SYS_SELECT}
