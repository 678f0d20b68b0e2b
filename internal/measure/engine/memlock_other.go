//go:build !linux

package engine

// A Memlock is what a container's worker may lock of memory; see memlock_linux.go.
type Memlock struct {
	Capable    bool
	Soft, Hard int64
}

// OwnMemlock lifts the limit: no container is compared with a worker of this system.
func OwnMemlock() Memlock { return Memlock{Capable: true, Soft: -1, Hard: -1} }
