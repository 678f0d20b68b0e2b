package load

// readTSC returns the CPU's time stamp counter.
func readTSC() uint64
