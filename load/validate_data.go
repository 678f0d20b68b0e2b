package load

import (
	"math"
	"slices"
)

// data checks the options of what is written.
func (v *validator) data(j Job) {
	switch j.Data {
	case "", DataRandom, DataZero, DataPattern, DataSource, DataFixed:
	default:
		v.add("data", quote(j.Data), "use random, zero, pattern, source or fixed")
	}
	repeated := j.Data == DataPattern || j.Data == DataSource
	random := j.Data == "" || j.Data == DataRandom
	switch {
	case repeated && len(j.Pattern) == 0:
		v.add("pattern", `""`, "data=%s needs one", j.Data)
	case !repeated && len(j.Pattern) > 0 && !(random && j.Compress > 0):
		v.add("pattern", len(j.Pattern), "needs data=pattern, data=source or buffer_compress_percentage")
	case len(j.Pattern) > 1<<20:
		v.add("pattern", len(j.Pattern), "at most 1 MiB")
	}
	switch {
	case j.Refill != "" && j.Refill != RefillBefore && j.Refill != RefillWithin:
		v.add("refill", quote(j.Refill), "use before or within")
	case j.Refill != "" && (!random || !j.writes()):
		v.add("refill", quote(j.Refill), "needs writes of random data")
	case j.Refill != "" && j.Peer != "":
		v.add("refill", quote(j.Refill), "contradicts a peer, which makes the data")
	}
	for _, o := range []struct {
		name string
		n    int
	}{{"buffer_compress_percentage", j.Compress}, {"dedupe_percentage", j.Dedupe}} {
		switch {
		case o.n < 0 || o.n > 100:
			v.add(o.name, o.n, "must be a percentage from 0 to 100")
		case o.n > 0 && (!random || !j.writes()):
			v.add(o.name, o.n, "needs writes of random data")
		}
	}
	if s := j.DedupeSet; s != nil && (!s.sound() || j.Dedupe == 0 || j.Refill == "") {
		v.add("dedupe_set", s.Blocks, "has one block at least, and needs dedupe_percentage and refill")
	}
	switch {
	case !j.Verify:
	case j.PatternOnly && (j.Data != DataPattern || len(j.Pattern) == 0):
		v.add("pattern_only", true, "needs a pattern")
	case j.PatternOnly:
	case !random && j.Data != DataPattern || j.Dedupe > 0:
		v.add("verify", true, "every block must be its own: leave out the data options")
	case j.VerifyUnit() < leastUnit:
		v.add("verify", true, "all sizes and offsets must be multiples of %d", leastUnit)
	}
	v.readBack(j)
	v.script(j)
	switch {
	case j.Peer == "":
	case !slices.Contains([]string{PeerZero, PeerRandom, PeerNull}, j.Peer):
		v.add("peer", quote(j.Peer), "use %s, %s or %s", PeerZero, PeerRandom, PeerNull)
	case j.mixed() || j.Peer == PeerNull != j.reads():
		v.add("peer", j.Peer, "%s takes what is read, the others give what is written", PeerNull)
	case j.IOEngine != PSync || j.NumJobs != 1 || j.IODepth != 1:
		v.add("peer", j.Peer, "needs ioengine=psync, numjobs=1 and iodepth=1")
	case j.Verify || j.Dedupe > 0 || j.Compress > 0 || len(j.Pattern) > 0:
		v.add("peer", j.Peer, "it makes the written data: leave out verify and the data options")
	}
	for _, c := range j.CPUs {
		if c < 0 || c >= maxCPUs {
			v.add("cpus_allowed", c, "a processor's number is from 0 to %d", maxCPUs-1)
		}
	}
	if len(j.CPUNodes) > 0 && len(j.CPUs) > 0 {
		v.add("numa_cpu_nodes", j.CPUNodes, "contradicts cpus_allowed; use one of the two")
	}
	v.nodes("numa_cpu_nodes", j.CPUNodes)
	v.nodes("numa_mem_policy", j.MemNodes)
	switch n := len(j.MemNodes); {
	case !slices.Contains([]string{"", MemPrefer, MemBind, MemInterleave, MemLocal}, j.MemPolicy):
		v.add("numa_mem_policy", quote(j.MemPolicy), "use %s, %s, %s or %s", MemPrefer, MemBind, MemInterleave, MemLocal)
	case (j.MemPolicy == "" || j.MemPolicy == MemLocal) && n > 0, (j.MemPolicy == MemBind || j.MemPolicy == MemInterleave) && n == 0, j.MemPolicy == MemPrefer && (n != 1 || j.MemNodes[0] < 0):
		v.add("numa_mem_policy", quote(j.MemPolicy), "%d nodes; %s needs one, %s and %s need some, %s none", n, MemPrefer, MemBind, MemInterleave, MemLocal)
	}
	if j.SplitFrom < 0 || j.SplitFrom > 0 && !j.SplitCPUs {
		v.add("split_from", j.SplitFrom, "must be 0 or more and needs split_cpus")
	}
}

// readBack checks the options that go with Verify.
func (v *validator) readBack(j Job) {
	switch {
	case !j.KeepWritten:
	case !j.Verify || !j.writes():
		v.add("keep_written", true, "needs verify, and a job that writes")
	case j.PatternOnly && j.VerifyUnit() < leastUnit:
		v.add("verify", true, "all sizes and offsets must be multiples of %d", leastUnit)
	case j.PatternOnly && (j.split() || j.align() != j.BS) && j.VerifyUnit()%int64(max(len(j.Pattern), 1)) != 0:
		v.add("pattern_only", true, "where blocks of several sizes or places overlap the pattern has to fit %d bytes a whole number of times", j.VerifyUnit())
	}
	switch {
	case j.VerifyBacklog == 0 && j.VerifyBacklogBatch == 0:
	case j.VerifyBacklog < 0 || j.VerifyBacklogBatch < 0:
		v.add("verify_backlog", j.VerifyBacklog, "must not be negative")
	case !j.KeepWritten:
		v.add("verify_backlog", j.VerifyBacklog, "needs keep_written")
	case synchronous(j.IOEngine) && j.IODepth > 1:
		v.add("verify_backlog", j.VerifyBacklog, "needs iodepth=1 with %s, whose threads don't know what the others write", j.IOEngine)
	}
	if u := j.StampUnit; u != 0 && (!j.Verify || j.writes() || !isUnit(u) || j.BS%u != 0) {
		v.add("stamp_unit", u, "must be a power of two from %d to %d that bs is a multiple of, in a job that verifies what it reads", leastUnit, mostUnit)
	}
	switch {
	case len(j.Only) == 0:
	case !j.straight() || !j.once() || j.Tail:
		v.add("only", "ranges", "is for one thread of sequential reads, once")
	case len(j.Only) != j.fileCount():
		v.add("only", "ranges", "has to have those of each file")
	}
	for _, all := range j.Only {
		for _, r := range all {
			if r.Offset < j.Offset || r.Size < 1 || r.Offset > math.MaxInt64-r.Size || j.Size > 0 && r.Offset+r.Size > j.Offset+j.Size {
				v.add("only", r.Offset, "lies outside of the region")
				return
			}
		}
	}
}

// tailed reports whether the job is of the kind that may have a Tail.
func (j Job) tailed() bool {
	oneByOne := j.IOEngine == PSync && j.IODepth == 1 && !j.SharedCursor
	measuredWhole := j.once() && j.RampTime == 0 && !j.Verify
	return j.straight() && j.fileCount() == 1 && oneByOne && measuredWhole
}

// straight reports whether one thread reads sequentially, with all I/Os of one size.
func (j Job) straight() bool {
	return j.RW == Read && j.NumJobs == 1 && !j.split() && j.RWNumber == 0 && !j.Parallel
}
