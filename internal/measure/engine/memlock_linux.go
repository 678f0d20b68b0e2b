package engine

import (
	"sync"

	"golang.org/x/sys/unix"
)

// A memlock is what the host's worker may lock of memory. io_uring registers its buffers
// within that, and works slower without: a container's worker gets the same, or
// the generator would make one place look faster than another.
type memlock struct {
	// capable is set where CAP_IPC_LOCK lifts the limit.
	capable bool
	// soft and hard are RLIMIT_MEMLOCK in bytes, -1: none.
	soft, hard int64
}

// ownMemlock reads what this process, and so the host's worker, may lock.
var ownMemlock = sync.OnceValue(func() memlock {
	m := memlock{capable: Capable(unix.CAP_IPC_LOCK), soft: -1, hard: -1}
	var r unix.Rlimit
	if m.capable || unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) != nil {
		return m
	}
	if r.Cur != unix.RLIM_INFINITY {
		m.soft = int64(r.Cur)
	}
	if r.Max != unix.RLIM_INFINITY {
		m.hard = int64(r.Max)
	}
	return m
})

// Capable reports whether this process has a capability in effect, such as unix.CAP_SYS_RESOURCE
// (capabilities(7)).
func Capable(c uint) bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) != nil {
		return false
	}
	return data[c/32].Effective&(1<<(c%32)) != 0
}
