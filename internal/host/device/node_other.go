//go:build !linux

package device

// BlockNode says that path names no block device: only Linux's are known.
func BlockNode(string) (major, minor uint32, ok bool) { return 0, 0, false }
