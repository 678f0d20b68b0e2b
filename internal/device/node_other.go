//go:build !linux

package device

// blockNode says that path names no block device: only Linux's are known.
func blockNode(string) (major, minor uint32, ok bool) { return 0, 0, false }
