package diskspd

import (
	"fmt"
	"math/bits"
	"reflect"
	"strings"
	"time"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// bytePattern is what DiskSpd writes by default: the bytes 0 to 255, over and over.
var bytePattern = func() []byte {
	p := make([]byte, 256)
	for i := range p {
		p[i] = byte(i)
	}
	return p
}()

// stage turns a time span into the jobs of a stage: one per target, in order. leave is the session's --destructive.
func (s *Span) stage(session dialect.Session, leave []string) []workload.StageJob {
	if s.pooled() && len(s.Targets) > 1 {
		return []workload.StageJob{s.poolJob(session, leave)}
	}
	var jobs []workload.StageJob
	from := 0
	for i := range s.Targets {
		t := &s.Targets[i]
		j := workload.StageJob{
			Name: fmt.Sprintf("target %d", i+1), Job: s.job(t), Destructive: leave,
		}
		j.Job.Filename = session.Path(t.Path)
		// Two targets must not draw the same offsets. 0 would be the generator's own seed.
		j.Job.RandSeed = uint64(s.Seed)<<20 | uint64(i+1)
		if t.Create {
			j.Size = int64(t.FileSize)
		}
		s.bind(&j.Job, from)
		if s.Threads == 0 {
			from += int(t.Threads)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// poolJob is the job of threads whose I/Os each go to any of the targets, which are alike (-O); the results are kept
// by file.
func (s *Span) poolJob(session dialect.Session, leave []string) workload.StageJob {
	t := &s.Targets[0]
	j := workload.StageJob{Name: "all targets", Job: s.job(t), Destructive: leave}
	j.Job.FileService, j.Job.PerFile = load.Random, true
	j.Job.RandSeed = uint64(s.Seed)<<20 | 1
	for i := range s.Targets {
		j.Job.Files = append(j.Job.Files, session.Path(s.Targets[i].Path))
	}
	if t.Create {
		j.Size = int64(t.FileSize)
	}
	s.bind(&j.Job, 0)
	return j
}

// alike reports whether the span's targets differ only in their paths.
func (s *Span) alike() bool {
	for i := range s.Targets {
		other := s.Targets[i]
		other.Path = s.Targets[0].Path
		if !reflect.DeepEqual(other, s.Targets[0]) {
			return false
		}
	}
	return true
}

// bind spreads a job's threads over CPUs, where its first thread is number from of the span.
func (s *Span) bind(j *load.Job, from int) {
	if s.NoAffinity {
		return
	}
	j.SplitCPUs, j.SplitFrom = true, from
	for _, a := range s.Affinity {
		j.CPUs = append(j.CPUs, int(a.Number))
	}
}

// job is the span's job for a target, without the file.
func (s *Span) job(t *Target) load.Job {
	j := load.Job{
		BS: int64(t.Block), IODepth: s.outstanding(t), NumJobs: s.threads(t),
		Offset: int64(t.Base), Size: t.length(),
		Runtime: secondsOf(s.Duration), RampTime: secondsOf(s.Warmup), CoolDown: secondsOf(s.Cooldown),
		Direct: t.Cache == NoOSCache,
		Rate:   int64(t.BytesPerMS) * 1000, RateIOPS: int64(t.IOPS),
		PerJob: true,
	}
	switch {
	case t.SequentialScan:
		j.Hint = load.Sequential
	case t.RandomAccess:
		j.Hint = load.Random
	}
	if t.MemoryMapped {
		// DiskSpd's threads do one such I/O at a time, whatever -o says.
		j.IOEngine, j.IODepth = load.MMap, 1
	}
	j.LargePages = t.LargePages
	if t.WriteThrough || t.FlushType != "" {
		j.Sync = "dsync"
	}
	if s.IOPS {
		j.SampleEvery = time.Duration(s.Bucket) * time.Millisecond
	}
	if t.Burst > 0 {
		j.ThinkTimeBlocks, j.ThinkTime = int64(t.Burst), time.Duration(t.Think)*time.Millisecond
	}
	t.direction(&j)
	s.places(t, &j)
	s.written(t, &j)
	return j
}

func secondsOf(n uint32) time.Duration { return time.Duration(n) * time.Second }

// end is the end of the range, 0 if only the file's size tells it.
func (t *Target) end() uint64 {
	if t.Create && (t.Max == 0 || t.Max > t.FileSize) {
		return t.FileSize
	}
	return t.Max
}

// length is the size of the range in bytes, 0 up to the end.
func (t *Target) length() int64 {
	end := t.end()
	if end == 0 {
		return 0
	}
	return int64(end) - int64(t.Base)
}

func (t *Target) direction(j *load.Job) {
	random := ""
	if t.RandomRatio > 0 {
		random = "rand"
	}
	switch t.WriteRatio {
	case 0:
		j.RW = random + load.Read
	case 100:
		j.RW = random + load.Write
	default:
		reads := 100 - int(t.WriteRatio)
		j.RW, j.RWMixRead, j.OneSequence = random+load.RW, &reads, true
	}
}

// places sets the offsets of the I/Os.
func (s *Span) places(t *Target, j *load.Job) {
	block, align := int64(t.Block), int64(t.align())
	if t.RandomRatio == 0 {
		j.RWNumber = align - block
		j.WholeRegion = true
		j.SharedCursor = t.Interlocked && j.NumJobs > 1
		j.StartIncrement = int64(t.ThreadStride)
		j.Parallel = t.Parallel && s.outstanding(t) > 1
		return
	}
	if align != block {
		j.BlockAlign = align
	}
	if t.RandomRatio < 100 {
		share := int(t.RandomRatio)
		j.PercentageRandom, j.OneSequence = &share, true
	}
	if len(t.Ranges) > 0 {
		j.Distribution = t.zones()
	}
}

// zones are the ranges in the load generator's terms. Ranges beyond the end are cut off, and the remaining ones take
// all I/Os in the same proportions.
func (t *Target) zones() string {
	var parts []string
	if !t.Absolute {
		for _, r := range t.Ranges {
			parts = append(parts, fmt.Sprintf("%d/%d", r.IO, r.Size))
		}
		return load.Zoned + ":" + strings.Join(parts, ":")
	}
	all := t.effective(uint64(max(t.length(), 0)) + t.Base)
	total, at := 0.0, uint64(0)
	for _, r := range all {
		total += float64(r.io)
	}
	for _, r := range all {
		if r.first > at {
			parts = append(parts, fmt.Sprintf("0/%d", r.first-at))
		}
		parts = append(parts, fmt.Sprintf("%.10g/%d", 100*float64(r.io)/total, r.size))
		at = r.first + r.size
	}
	return load.ZonedAbs + ":" + strings.Join(parts, ":")
}

// A part is a range of a target in bytes from the base, with its share of the I/Os.
type part struct {
	io          uint32
	first, size uint64
}

// effective are the ranges on a target of fileSize bytes, without those that get no I/Os.
func (t *Target) effective(fileSize uint64) []part {
	end := fileSize
	if t.Max > 0 {
		end = min(end, t.Max)
	}
	if len(t.Ranges) == 0 || end < t.Base+uint64(t.Block) {
		return nil
	}
	size, align := end-t.Base, t.align()
	// Offsets are up to this.
	whole := (size-uint64(t.Block))/align*align + align
	var all []part
	at := uint64(0)
	for _, r := range t.Ranges {
		p := part{io: r.IO, first: at}
		if t.Absolute {
			p.size = r.Size
			if p.size == 0 || at+p.size > size {
				p.size = size - min(at, size)
			}
			at += p.size
			if p.size < uint64(t.Block) {
				break
			}
		} else {
			// Percent of the whole blocks; none gets lost to rounding.
			upTo := at + r.Size
			p.first = percent(whole/align, at) * align
			p.size = percent(whole/align, upTo)*align - p.first
			at = upTo
		}
		if r.IO > 0 && p.size > 0 {
			all = append(all, p)
		}
	}
	return all
}

// percent is p percent of n, rounded down. p is 100 at most.
func percent(n, p uint64) uint64 {
	hi, lo := bits.Mul64(n, p)
	q, _ := bits.Div64(hi, lo, 100)
	return q
}

// written sets the data of writes.
func (s *Span) written(t *Target, j *load.Job) {
	switch {
	case t.WriteRatio == 0:
	case t.Zero:
		j.Data = load.DataZero
	case len(t.RandomData) > 0:
		j.Data, j.Pattern = load.DataSource, t.RandomData
	case t.RandomSize > 0:
		j.Data = load.DataRandom
	case s.RandomWrites:
		// Its call that starts a write makes the data, after it has noted the time (issueNextIO and GetWriteBuffer).
		j.Data, j.Refill = load.DataRandom, load.RefillWithin
	default:
		j.Data, j.Pattern = load.DataPattern, bytePattern
	}
}
