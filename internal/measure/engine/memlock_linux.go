package engine

import (
	"sync"

	"golang.org/x/sys/unix"
)

// A Memlock is how much memory the host's worker may lock. io_uring registers its buffers within that, and is slower
// without. A container's worker gets the same, or the generator would make one place look faster than another.
type Memlock struct {
	// Capable is set where CAP_IPC_LOCK lifts the limit.
	Capable bool
	// Soft and Hard are RLIMIT_MEMLOCK in bytes; -1 is no limit.
	Soft, Hard int64
}

// OwnMemlock returns how much this process, and so the host's worker, may lock.
var OwnMemlock = sync.OnceValue(func() Memlock {
	m := Memlock{Capable: Capable(unix.CAP_IPC_LOCK), Soft: -1, Hard: -1}
	var r unix.Rlimit
	if m.Capable || unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) != nil {
		return m
	}
	if r.Cur != unix.RLIM_INFINITY {
		m.Soft = int64(r.Cur)
	}
	if r.Max != unix.RLIM_INFINITY {
		m.Hard = int64(r.Max)
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
