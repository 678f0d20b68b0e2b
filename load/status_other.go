//go:build !linux

package load

func ownTask() int { return 0 }

// taskUsage is unknown on this system.
func taskUsage(int) ThreadUsage { return ThreadUsage{} }
