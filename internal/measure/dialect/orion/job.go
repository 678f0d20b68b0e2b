package orion

import (
	"fmt"
	"hash/fnv"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Names of the jobs of a data point.
const (
	smallJob  = "small"
	largeJob  = "large"
	writeJob  = "large writes" // write streams beside read streams
	cacheJob  = "cache"
	cacheTime = 2 * time.Minute // of -cache_size that wasn't given, by Orion's help
)

// base is the common part of all jobs of a data point.
func (t *Test) base(s dialect.Session, seed uint64) workload.StageJob {
	j := load.Job{Direct: true, Runtime: time.Duration(t.Seconds) * time.Second, RandSeed: seed}
	var paths []string
	for _, l := range t.LUNs {
		paths = append(paths, s.Path(l))
	}
	if len(paths) == 1 {
		j.Filename = paths[0]
	} else {
		j.Files, j.FileService = paths, load.Random
	}
	return workload.StageJob{Job: j, Size: t.LUNSize, Destructive: t.leave}
}

// seed differs between points: with one seed for all, each would read blocks that an earlier point has brought into
// the caches.
func (t *Test) seed(p Load, what string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d %s", t.Name, p.Small, p.Large, what)
	return h.Sum64() | 1
}

// jobs are those of a data point; they start together.
func (t *Test) jobs(s dialect.Session, p Load) []workload.StageJob {
	var all []workload.StageJob
	if p.Small > 0 {
		all = append(all, t.random(s, smallJob, p, t.SmallKB, p.Small))
	}
	switch {
	case p.Large == 0:
	case t.Type == Rand:
		all = append(all, t.random(s, largeJob, p, t.LargeKB, p.Large))
	default:
		// Each stream only reads or only writes.
		writes := (p.Large*t.Write + 50) / 100
		if n := p.Large - writes; n > 0 {
			all = append(all, t.streams(s, largeJob, p, load.Read, n))
		}
		if writes > 0 {
			all = append(all, t.streams(s, writeJob, p, load.Write, writes))
		}
	}
	return all
}

// random makes a job that keeps depth random I/Os in flight.
func (t *Test) random(s dialect.Session, name string, p Load, kb, depth int) workload.StageJob {
	j := t.base(s, t.seed(p, name))
	j.Name, j.Job.BS, j.Job.IODepth = name, int64(kb)<<10, depth
	switch t.Write {
	case 0:
		j.Job.RW = load.RandRead
	case 100:
		j.Job.RW = load.RandWrite
	default:
		reads := 100 - t.Write
		j.Job.RW, j.Job.RWMixRead = load.RandRW, &reads
	}
	return j
}

// streams makes a job of n sequential streams, each in its own part of the volume.
func (t *Test) streams(s dialect.Session, name string, p Load, rw string, n int) workload.StageJob {
	j := t.base(s, t.seed(p, name))
	j.Name, j.Job.BS, j.Job.IODepth, j.Job.NumJobs, j.Job.RW = name, int64(t.LargeKB)<<10, t.StreamIO, n, rw
	if len(j.Job.Files) > 0 {
		j.Job.FileService = load.Sequential
		if t.Simulate == RAID0 {
			j.Job.FileService = load.RoundRobin
		}
	}
	return j
}

// cache is the unmeasured I/O before a point of sequential streams: it fills the array's cache with data that the
// streams don't read. nil if there is none.
func (t *Test) cache(s dialect.Session, p Load) []workload.StageJob {
	if t.Type != Seq || p.Large == 0 || t.CacheMB == 0 {
		return nil
	}
	j := t.base(s, t.seed(p, cacheJob))
	j.Name, j.Job.BS, j.Job.IODepth, j.Job.RW = cacheJob, int64(t.LargeKB)<<10, t.StreamIO, load.RandRead
	if t.Write > 0 {
		j.Job.RW = load.RandWrite
	}
	j.Job.Runtime = cacheTime
	if t.CacheMB != notGiven {
		// With a runtime, blocks may repeat; the number of bytes ends the job.
		j.Job.Runtime, j.Job.IOSize = 24*time.Hour, max(int64(t.CacheMB)<<20, j.Job.BS)
	}
	return []workload.StageJob{j}
}
