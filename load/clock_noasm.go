//go:build !amd64

package load

// readTSC is not called where tscUsable says no.
func readTSC() uint64 { return 0 }
