//go:build !linux

package load

func ownTask() int { return 0 }

// taskUsage isn't known on this system.
func taskUsage(int) ThreadUsage { return ThreadUsage{} }
