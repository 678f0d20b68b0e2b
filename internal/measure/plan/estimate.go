package plan

import (
	"math"
	"time"

	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/steady"
	"plimsoll/internal/measure/website"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// The costs of a run beside its measured windows, for Estimate. Each block opens a container for every combination of
// engine, place and limits, and each trial starts a process in it. They were measured with runc 1.1, Docker 20.10 and QEMU
// 7.2 without KVM on two cores, and are rounded up.
const (
	trialOverhead  = 20 * time.Millisecond
	hostOverhead   = 20 * time.Millisecond
	ociOverhead    = 100 * time.Millisecond
	dockerOverhead = 300 * time.Millisecond
	// The cost of an emulated virtual machine and its first connection to a share: for one that continues from a saved
	// state, and for one that boots.
	vmOverhead     = 3 * time.Second
	vmBootOverhead = 8 * time.Second
)

// The rates of an ordinary SSD, which Estimate assumes. A slow disk takes longer, which only a run can show.
const (
	assumedOps    = 10_000.0 // I/Os per second and depth of a block job that ends by a count.
	assumedNull   = 10e6     // I/Os per second of a job on the null engine.
	assumedBytes  = 500e6    // Bytes per second of a layout or of a sequential job.
	assumedAppend = 40_000.0 // Appends per second.
	assumedFiles  = 1_000.0  // Files of a tree per second, including making them.
	assumedPosts  = 60.0     // Posts of a site per second, as Jekyll builds them.
	// assumedCommand is how long an unknown command takes, in seconds.
	assumedCommand = 1.0
	maxEstimate    = time.Duration(math.MaxInt64)
)

// Estimate is about how long a run of the plan takes: the times that its cells set, plus a guess at layouts and overheads.
// It is right within a factor of 2 on an ordinary SSD, and may be far too low on a slow disk. It counts all cells of the
// plan, also those that will be skipped here.
func (p *Plan) Estimate() time.Duration {
	total := 0.0
	type session struct {
		engine, place, limits string
		control               bool
	}
	laidOut := map[session]int64{}
	places := map[session]string{}
	sites := map[session]map[website.Spec]bool{}
	for _, c := range p.Cells() {
		w, _ := p.Workload(c.Workload)
		total += float64(p.Blocks) * (works(w) + trialOverhead.Seconds())
		spec, _ := p.Place(c.Place)
		if spec.Kind != place.Tmpfs { // Layout in memory takes next to no time, and there is no writeback.
			total += float64(p.Blocks) * float64(buffered(w)) * float64(c.Clients) / assumedBytes
		}
		s := session{c.Engine, c.Places(), c.Limits, c.Control}
		places[s] = c.Place
		if w.Command != nil && w.Command.Site != nil {
			made := w.Command.Site.WithDefaults()
			if sites[s] == nil {
				sites[s] = map[website.Spec]bool{}
			}
			if !sites[s][made] {
				sites[s][made] = true
				total += float64(p.Blocks) * float64(made.Bytes) * float64(c.Clients) / assumedBytes
			}
		}
		laidOut[s] = max(laidOut[s], w.FileBytes()*int64(c.Clients))
	}
	for s, bytes := range laidOut {
		spec, _ := p.Place(places[s])
		e, _ := p.Engine(s.engine)
		total += float64(p.Blocks) * overhead(e, spec.Kind).Seconds()
		if spec.Kind != place.Tmpfs {
			total += float64(p.Blocks) * float64(bytes) / assumedBytes
		}
	}
	if total >= maxEstimate.Seconds() {
		return maxEstimate
	}
	return time.Duration(total * float64(time.Second))
}

// overhead is the cost of starting and ending one container, or a virtual machine with a kind of place.
func overhead(e EngineSpec, kind place.Kind) time.Duration {
	switch e.Engine {
	case Host:
		return hostOverhead
	case OCI:
		return ociOverhead
	case VM:
		if e.Machine.Boot || kind == place.Bind && e.Machine.Share == "virtiofs" {
			return vmBootOverhead
		}
		return vmOverhead
	}
	return dockerOverhead
}

// works is about how long one trial of w works, in seconds.
func works(w workload.Spec) float64 {
	w = canonical(w)
	once := 0.0
	switch w.Kind {
	case workload.Append:
		once = float64(w.Count) / assumedAppend
	case workload.Tree:
		once = float64(w.Count) / assumedFiles
	case workload.Command:
		once = assumedCommand
		if s := w.Command.Site; s != nil {
			once += float64(s.Posts)/assumedPosts + float64(s.Bytes)/assumedBytes
		}
	case workload.Block:
		return w.Job.RampTime.Seconds() + blockSeconds(w)
	}
	return max(once, w.Runtime.Seconds())
}

// buffered is the most bytes that a trial of w leaves to be written back after its window: the page cache takes writes
// faster than any disk, but not more of them than the file is long.
func buffered(w workload.Spec) int64 {
	w = canonical(w)
	j := w.Job
	if !w.LeavesWrites() || j.IOEngine == load.Null {
		return 0
	}
	bs := max(j.BS, 1)
	ios := j.Size / bs * int64(max(w.Files, 1))
	if n := endsAfter(j); n > 0 {
		ios = min(ios, n)
	}
	if most := j.Offered() * j.Runtime.Seconds(); most > 0 && most < float64(ios) {
		ios = int64(most)
	}
	return ios * bs
}

// blockSeconds is about how long the measured window of a block job is.
func blockSeconds(w workload.Spec) float64 {
	j := w.Job
	if round := w.Steady.Round; round > 0 {
		// Most jobs get steady soon.
		return min(2*steady.WindowRounds*round, j.Runtime).Seconds()
	}
	_, mean, _ := j.BlockSizes()
	ios := float64(passIOs(j))
	if endsAfter(j) == 0 {
		ios *= float64(max(j.NumJobs, 1)) * float64(max(w.Files, 1)) // Together the threads do the passes.
	}
	j.NumberIOs = endsAfter(j)
	byCount := max(ios/assumedOps/float64(max(j.IODepth, 1)), ios*float64(mean)/assumedBytes, scheduled(j).Seconds())
	if j.IOEngine == load.Null {
		byCount = max(ios/assumedNull, scheduled(j).Seconds())
	}
	switch {
	case j.Runtime == 0:
		return byCount
	case j.NumberIOs > 0:
		return min(byCount, j.Runtime.Seconds())
	}
	return j.Runtime.Seconds()
}

// Trials is how many trials a run of the plan has.
func (p *Plan) Trials() int { return len(p.Cells()) * p.Blocks }
