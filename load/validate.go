package load

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Bounds of a job. They keep a typing error from exhausting the machine's memory; no code depends on them.
const (
	maxBS      = 1 << 30
	maxTrim    = 1 << 40 // A trim has no buffer.
	maxDepth   = 4096
	maxThreads = 1024
	maxBuffers = 1 << 40
	maxFiles   = 4096
	maxSplits  = 4096
	maxCPUs    = 1024
)

// MaxSamples is the maximum number of samples of a job, which keeps them at some MB. A longer Runtime needs a longer
// SampleEvery.
const MaxSamples = 1 << 20

// An OptionError says what is wrong with one option of a job.
type OptionError struct {
	// Option is its name in fio, Value its value.
	Option string
	Value  string
	// Text explains the fault and its fix.
	Text string
}

// Error implements error.
func (e *OptionError) Error() string { return e.Option + "=" + e.Value + ": " + e.Text }

// Validate returns all contradictions in j, as *OptionErrors joined into one error, or nil. It doesn't look at the
// file; Prepare does.
func (j Job) Validate() error {
	var v validator
	j = j.WithDefaults()
	v.pattern(j)
	v.sizes(j)
	v.splits(j)
	v.randomness(j)
	v.threads(j)
	v.ends(j)
	v.samples(j)
	v.rounds(j)
	v.pace(j)
	v.syncs(j)
	v.data(j)
	v.flow(j)
	v.zones(j)
	v.parts(j)
	v.target(j)
	v.priorities(j)
	v.engine(j)
	return errors.Join(v.errs...)
}

// WithDefaults returns j with zero values replaced by their meaning, as far as that doesn't depend on the file or the
// system: BS, IODepth, NumJobs and, for rw and randrw, RWMixRead.
func (j Job) WithDefaults() Job {
	if j.BS == 0 {
		j.BS = 4096
	}
	if j.IODepth == 0 {
		j.IODepth = 1
	}
	if j.NumJobs == 0 {
		j.NumJobs = 1
	}
	if j.Distribution == Random {
		j.Distribution = ""
	}
	if j.RWMixRead == nil && j.mixed() && !j.hasWriteRate() {
		half := 50
		j.RWMixRead = &half
	}
	return j
}

// random, reads and writes describe the pattern. To the loops, a trim is a read that moves no data.
func (j Job) random() bool {
	switch j.RW {
	case RandRead, RandWrite, RandRW, RandTrim, RandTrimWrite:
		return true
	}
	return false
}
func (j Job) trims() bool { return j.RW == Trim || j.RW == RandTrim }

// pairs reports whether each block is trimmed and then written; discards reports whether the job trims at all.
func (j Job) pairs() bool    { return j.RW == TrimWrite || j.RW == RandTrimWrite }
func (j Job) discards() bool { return j.trims() || j.pairs() }

func (j Job) mixed() bool  { return j.RW == RW || j.RW == RandRW }
func (j Job) reads() bool  { return j.RW == Read || j.RW == RandRead || j.mixed() || j.discards() }
func (j Job) writes() bool { return j.RW == Write || j.RW == RandWrite || j.mixed() || j.pairs() }

// Reads reports whether the job reads. Writes reports whether it changes existing data, as a trim does too.
func (j Job) Reads() bool  { return j.reads() && !j.discards() }
func (j Job) Writes() bool { return j.writes() || j.trims() }

// maxSize returns the maximum size of an I/O.
func (j Job) maxSize() int64 {
	if j.trims() {
		return maxTrim
	}
	return maxBS
}

// synchronous reports whether the engine does one I/O at a time per thread.
func synchronous(engine string) bool { return engine == PSync || engine == MMap }

// osThreads returns the number of threads that the engine needs for j.
func (j Job) osThreads(engine string) int {
	if synchronous(engine) {
		return j.NumJobs * j.IODepth
	}
	return j.NumJobs
}

// aligned reports whether the job's direct I/O must be in whole sectors.
func (j Job) aligned() bool { return j.Direct && !j.AnyAlign }

type validator struct{ errs []error }

func (v *validator) add(option string, value any, format string, args ...any) {
	v.errs = append(v.errs, &OptionError{option, fmt.Sprint(value), fmt.Sprintf(format, args...)})
}

func (v *validator) pattern(j Job) {
	all := []string{Read, Write, RandRead, RandWrite, RW, RandRW, Trim, RandTrim, TrimWrite, RandTrimWrite}
	if !slices.Contains(all, j.RW) {
		hint := ""
		if j.RW == "readwrite" {
			hint = "; fio's readwrite is called rw here"
		}
		v.add("rw", quote(j.RW), "not a pattern; use one of %s%s", strings.Join(all, ", "), hint)
		return
	}
	switch {
	case !j.discards():
	case j.pairs() && j.IODepth > 1:
		v.add("iodepth", j.IODepth, "rw=%s does one I/O at a time: what is written must be trimmed before", j.RW)
	case j.pairs() && (j.rated() || j.Zones != nil), j.pairs() && (j.OneSequence || j.Parallel):
		v.add("rw", quote(j.RW), "takes no rate, no zones and no other sequence")
	case j.IOEngine != PSync && j.IOEngine != Null:
		v.add("ioengine", quote(j.IOEngine), "can't trim; use %s or %s", PSync, Null)
	case j.Verify:
		v.add("rw", quote(j.RW), "leaves nothing that could be verified")
	}
	if p := j.RWMixRead; p != nil {
		if *p < 0 || *p > 100 {
			v.add("rwmixread", *p, "must be a percentage from 0 to 100")
		}
		if !j.mixed() {
			v.add("rwmixread", *p, "has no meaning with rw=%s; leave it out or use rw=rw or rw=randrw", j.RW)
		}
	}
}

func (v *validator) sizes(j Job) {
	switch {
	case j.BS < 1 || j.BS > j.maxSize():
		v.add("bs", j.BS, "must be from 1 byte to 1 GiB")
		return
	case j.aligned() && j.BS%512 != 0:
		v.add("bs", j.BS, "direct I/O needs a multiple of 512; use bs=%d or direct=0", (j.BS/512+1)*512)
	}
	switch {
	case j.Offset < 0:
		v.add("offset", j.Offset, "must not be negative")
	case j.aligned() && j.Offset%512 != 0:
		v.add("offset", j.Offset, "direct I/O needs a multiple of 512; use direct=0 or another offset")
	}
	switch {
	case j.Size < 0:
		v.add("size", j.Size, "must not be negative; 0 means to the end of the file")
	case j.Size > math.MaxInt64-max(j.Offset, 0):
		v.add("size", j.Size, "with offset=%d it ends beyond any file", j.Offset)
	case j.Size != 0 && j.Size < j.BS && !j.Tail, j.Size != 0 && j.sliced() && j.Size/j.BS < int64(max(j.NumJobs, 1)):
		v.add("size", j.Size, "less than one block of bs=%d for each of numjobs=%d; make size larger or bs smaller", j.BS, j.NumJobs)
	case j.Tail && !j.tailed():
		v.add("tail", true, "is for one pass of rw=read over one file, with ioengine=psync, numjobs=1 and iodepth=1, and nothing else that ends the job")
	case j.Size == 0 && j.IOEngine == Null:
		v.add("size", j.Size, "the null engine has no file whose end could bound the job; set size")
	}
}

func (v *validator) threads(j Job) {
	if j.IODepth < 1 || j.IODepth > maxDepth {
		v.add("iodepth", j.IODepth, "must be from 1 to %d", maxDepth)
		return
	}
	if j.NumJobs < 1 || j.NumJobs > maxThreads {
		v.add("numjobs", j.NumJobs, "must be from 1 to %d", maxThreads)
		return
	}
	if n := j.osThreads(j.IOEngine); n > maxThreads {
		v.add("iodepth", j.IODepth, "with numjobs=%d psync would need %d threads; %d are allowed, or use io_uring", j.NumJobs, n, maxThreads)
	}
	if !j.trims() && j.BS > 0 && j.BS <= maxBS && j.maxBlock() <= maxBS && j.maxBlock()*int64(j.IODepth)*int64(j.NumJobs) > maxBuffers {
		v.add("iodepth", j.IODepth, "with bs=%d and numjobs=%d the buffers would take more than 1 TiB; lower one of the three", j.BS, j.NumJobs)
	}
}

func (v *validator) ends(j Job) {
	const year = 365 * 24 * time.Hour
	if j.Runtime < 0 || j.Runtime > year {
		v.add("runtime", j.Runtime, "must be from 0 (one pass) to a year")
	}
	if j.RampTime < 0 || j.RampTime > year {
		v.add("ramp_time", j.RampTime, "must be from 0 to a year")
	}
	if j.Trace < 0 || j.Trace > MaxTrace {
		v.add("trace", j.Trace, "must be from 0 to %d", MaxTrace)
	}
	if j.SampleEvery != 0 && (j.SampleEvery < leastSample || j.SampleEvery > year) {
		v.add("sample_every", j.SampleEvery, "must be from 10ms to a year, or 0")
	}
	switch {
	case j.CoolDown < 0 || j.CoolDown > year:
		v.add("cooldown", j.CoolDown, "must be from 0 to a year")
	case j.CoolDown > 0 && (j.Runtime == 0 || j.EndFsync || j.ByAmount()):
		v.add("cooldown", j.CoolDown, "needs a runtime, and nothing else that ends the job")
	}
	if j.NumberIOs < 0 {
		v.add("number_ios", j.NumberIOs, "must not be negative; 0 means no such end")
	}
	if j.StartDelay < 0 || j.StartDelay > year {
		v.add("startdelay", j.StartDelay, "must be from 0 to a year")
	}
	if j.IOSize < 0 {
		v.add("io_size", j.IOSize, "must not be negative; 0 means no such end")
	}
	switch {
	case j.Loops < 0:
		v.add("loops", j.Loops, "must not be negative; 0 and 1 mean once")
	case j.Loops > 1 && j.Runtime > 0 && j.IOSize == 0:
		v.add("loops", j.Loops, "has no meaning with runtime, which repeats the region until the time is over")
	}
}

func (v *validator) syncs(j Job) {
	if j.Sync != "" && j.Sync != "dsync" && j.Sync != "sync" {
		v.add("sync", quote(j.Sync), `use "dsync" for O_DSYNC, "sync" for O_SYNC, or leave it out`)
	}
	for _, o := range []struct {
		name string
		n    int
	}{{"fsync", j.Fsync}, {"fdatasync", j.FDataSync}} {
		switch {
		case o.n < 0:
			v.add(o.name, o.n, "must not be negative; 0 means never")
		case o.n > 0 && !j.writes():
			v.add(o.name, o.n, "rw=%s writes nothing that could be synced; leave it out", j.RW)
		}
	}
	if j.SyncReads && (!j.mixed() || j.Fsync+j.FDataSync == 0) {
		v.add("sync_reads", true, "needs a mixed job with fsync or fdatasync")
	}
	if j.Fsync > 0 && j.FDataSync > 0 {
		v.add("fdatasync", j.FDataSync, "contradicts fsync=%d; use one of the two", j.Fsync)
	}
	if j.Append && (j.RW != Write || j.osThreads(j.IOEngine) > 1 || j.fileCount() > 1) {
		v.add("append", true, "needs rw=write, one file and one thread")
	}
	if j.Fill && (j.reads() || j.IOEngine == MMap) {
		v.add("fill", true, "needs a job of writes, and an engine other than mmap")
	}
	if j.EndDataOnly && !j.EndFsync {
		v.add("end_data_only", true, "needs end_fsync")
	}
	if j.EndFsync && !j.writes() {
		v.add("end_fsync", 1, "rw=%s writes nothing that could be synced; leave it out", j.RW)
	}
}

func (v *validator) engine(j Job) {
	if j.IOEngine != "" && j.IOEngine != MMap && !slices.Contains(engineNames, j.IOEngine) {
		hint := ""
		if j.IOEngine == "libaio" {
			hint = "; fio's libaio is called linux-aio here"
		}
		v.add("ioengine", quote(j.IOEngine), "use one of %s, or leave it out for the strongest that works%s", strings.Join(engineNames, ", "), hint)
	}
	if j.IOEngine == MMap && j.Direct {
		v.add("direct", true, "contradicts ioengine=mmap: a mapping is the page cache")
	}
	switch {
	case j.Filename != "" && len(j.Files) > 0:
		v.add("filename", quote(j.Filename), "contradicts files; use one of the two")
	case len(j.Files) > maxFiles:
		v.add("nrfiles", len(j.Files), "at most %d files", maxFiles)
	case slices.ContainsFunc(j.paths(), func(p string) bool { return strings.ContainsRune(p, 0) }):
		v.add("filename", quote(j.Filename), "holds a NUL byte")
	case slices.Contains(j.paths(), "") && j.IOEngine != Null:
		v.add("filename", `""`, "a job needs a file, unless ioengine=null")
	}
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
