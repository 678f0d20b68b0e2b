//go:build !unix

package safety

// reachable reports whether this process can work in a folder: steps need Linux.
func reachable(string) bool { return false }
