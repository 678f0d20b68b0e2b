//go:build !linux

package device

// NumberOf is none here.
func NumberOf(uint64) Number { return Number{} }

// BlockNode says that path names no block device: only Linux's are known.
func BlockNode(string) (Number, bool) { return Number{}, false }
