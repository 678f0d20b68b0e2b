//go:build !amd64

package load

// readTSC is not called if tscUsable returns false.
func readTSC() uint64 { return 0 }
