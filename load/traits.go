package load

// The functions of this file name what combinations of a Job's options mean. All other code asks for them by these
// names.

// Syncs reports whether the job makes its writes durable: each write, after several, or at its end.
func (j Job) Syncs() bool { return j.Sync != "" || j.callsSync() }

// callsSync reports whether the job calls fsync or fdatasync.
func (j Job) callsSync() bool { return j.Fsync > 0 || j.FDataSync > 0 || j.EndFsync }

// ByAmount reports whether a number of I/Os or bytes ends the job.
func (j Job) ByAmount() bool { return j.NumberIOs > 0 || j.IOSize > 0 }

// rated reports whether the job has a rate, in an open loop or with RateOnly.
func (j Job) rated() bool { return j.Rate > 0 || j.RateIOPS > 0 }

// timed reports whether something other than storage decides when an I/O begins.
func (j Job) timed() bool { return j.rated() || j.RateOnly != "" || j.ThinkTime > 0 || j.RampTime > 0 }

// skewed reports whether some random offsets are likelier than others, or some offsets are not random.
func (j Job) skewed() bool {
	return j.Distribution != "" || j.PercentageRandom != nil || j.PercentageRandomWrites != nil
}

// reordered reports whether an option replaces the usual order in which threads go through the region.
func (j Job) reordered() bool {
	return j.OneSequence || j.Parallel || j.SharedCursor || j.Tail || j.StartIncrement > 0
}

// once reports whether the job goes through its region exactly once.
func (j Job) once() bool { return j.Runtime == 0 && !j.ByAmount() && j.Loops <= 1 }

// unmapped reports whether random offsets may come more than once in a pass, and others not at all.
func (j Job) unmapped() bool {
	return j.random() && !j.RandomMap && (j.NoRandomMap || j.Runtime > 0 || j.ByAmount())
}

// mapped reports whether random offsets are the blocks of the region in random order, each once.
func (j Job) mapped() bool {
	if j.split() || j.Distribution != "" || j.align() != j.BS {
		return false
	}
	return j.random() && (j.RandomMap || j.Runtime == 0 && !j.NoRandomMap)
}

// plain reports whether the data of writes is generated once and has nothing that distinguishes blocks.
func (j Job) plain() bool {
	switch j.Data {
	case DataZero, DataSource, DataFixed:
		return true
	case DataPattern:
		return !j.Verify || j.PatternOnly || j.Peer != ""
	}
	return j.Peer != ""
}

// accountsMore reports whether each I/O has more to account for than its size and latency.
func (j Job) accountsMore() bool {
	return j.PerFile || j.Trace > 0 || j.HistEvery > 0 || j.Target != nil
}
