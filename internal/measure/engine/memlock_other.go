//go:build !linux

package engine

// A Memlock is how much memory a container's worker may lock; see memlock_linux.go.
type Memlock struct {
	Capable    bool
	Soft, Hard int64
}

// OwnMemlock returns no limit: no container is compared with a worker on this system.
func OwnMemlock() Memlock { return Memlock{Capable: true, Soft: -1, Hard: -1} }
