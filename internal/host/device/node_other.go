//go:build !linux

package device

// NumberOf returns the zero Number here.
func NumberOf(uint64) Number { return Number{} }

// BlockNode reports that path names no block device: only Linux's are known.
func BlockNode(string) (Number, bool) { return Number{}, false }
