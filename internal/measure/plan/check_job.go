package plan

import (
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// A jobCheck looks for contradictions in one block job. It refuses a job that would not do what its settings say: the
// figure would be taken for that of another job.
type jobCheck struct {
	d    *strict.Decoder
	path string
	// job has its defaults filled in. least, mean and most are the sizes of its I/Os; round is the length of its rounds if
	// it has a steady state.
	job               load.Job
	least, mean, most int64
	round             time.Duration
	// files is how many files the job has.
	files int64
	// failed are the keys that already have a fault.
	failed map[string]bool
}

// checkJob refuses block jobs whose settings contradict each other.
func checkJob(d *strict.Decoder, path string, w *workload.Spec) {
	c := jobCheck{d: d, path: path, round: w.Steady.Round, files: int64(max(w.Files, 1)), failed: map[string]bool{}}
	c.splits(&w.Job)
	c.job = w.Job.WithDefaults()
	c.least, c.mean, c.most = c.job.BlockSizes()
	c.sizes()
	c.ends()
	j := &c.job
	j.NumberIOs = endsAfter(*j)
	if j.Size/c.most >= parts(*j) {
		c.onePass()
	}
	c.mix()
	c.syncs()
	c.rate()
	c.threads()
	c.several()
	c.randomness()
	c.verified()
	c.steady()
	c.generator()
	if w.Fresh && len(c.failed) == 0 {
		if err := w.ValidateFresh(); err != nil {
			d.Fail(path, "%v", err)
		}
	}
}

// fail adds a fault to a key of the job.
func (c *jobCheck) fail(key, format string, args ...any) {
	c.failed[key] = true
	c.d.Fail(strict.Join(c.path, key), format, args...)
}

// set reports whether a key is in the file.
func (c *jobCheck) set(key string) bool { return c.d.Has(strict.Join(c.path, key)) }

// splits removes from j the sizes of I/Os that the job doesn't do.
func (c *jobCheck) splits(j *load.Job) {
	if len(j.ReadSplit) == 0 {
		return
	}
	if formatSplit(j.ReadSplit) != formatSplit(j.WriteSplit) && !(j.Reads() && j.Writes()) {
		c.fail("bssplit", "has sizes of reads and of writes, but %s does only one of them: leave out the comma and the unused size", j.RW)
	}
	if c.set("bssplit") && c.set("bsrange") {
		c.fail("bsrange", "contradicts bssplit: leave out one of the two")
	}
	if c.set("bs") {
		c.fail("bs", "contradicts %s, which has all sizes: leave out one of the two", c.sizesKey())
	}
	if !j.Reads() {
		j.ReadSplit = nil
	}
	if !j.Writes() {
		j.WriteSplit = nil
	}
}

// sizesKey is the key that gives the sizes of I/Os.
func (c *jobCheck) sizesKey() string {
	for _, key := range []string{"bssplit", "bsrange"} {
		if c.set(key) {
			return key
		}
	}
	return "bs"
}

func (c *jobCheck) sizes() {
	j, is, split := c.job, "bs is", c.sizesKey() != "bs"
	if split {
		is = c.sizesKey() + " goes up to"
	}
	if j.Size < c.most {
		c.fail("size", "is smaller than one I/O (%s %d bytes): make it %d or more", is, c.most, c.most)
		c.failed[c.sizesKey()] = true // The same fault.
	}
	// Direct I/O works on whole logical blocks, which are 512 bytes at least.
	if j.Direct && !split && j.BS%512 != 0 {
		c.fail("bs", "direct I/O needs a multiple of 512 bytes: change bs, or set direct to false")
	}
	if j.Direct && j.Offset%512 != 0 {
		c.fail("offset", "direct I/O needs a multiple of 512 bytes: change offset, or set direct to false")
	}
	if j.IOSize > 0 && j.IOSize < c.most {
		c.fail("io_size", "is smaller than one I/O (%s %d bytes): make it %d or more", is, c.most, c.most)
	}
	if j.Offset > maxFile-j.Size || j.End() > maxFile {
		c.fail("offset", "with size %s the file would be larger than %s", size.Format(j.Size), size.Format(maxFile))
	}
}

// ends refuses settings for the job's end that have no effect.
func (c *jobCheck) ends() {
	if c.job.Loops > 1 && c.job.NumberIOs > 0 {
		c.fail("loops", "has no effect with number_ios, which ends the job: leave out one of the two")
	}
}

// onePass refuses a depth that is never reached, because the job ends when each block was touched once. A job with an end
// of its own starts again at the beginning of the region.
func (c *jobCheck) onePass() {
	j := c.job
	if j.Runtime > 0 || j.NumberIOs > 0 || j.Loops > 1 {
		return
	}
	if blocks := j.Size / c.most / parts(j) * c.files; blocks < int64(j.IODepth) {
		c.fail("iodepth", "%d I/Os are never in flight at once: without runtime a thread does its %s once; set runtime, or make size %s or more",
			j.IODepth, many(blocks, "block"), size.Format((c.most*int64(j.IODepth)*parts(j)+c.files-1)/c.files))
	}
}

// mix refuses settings of mixed jobs in a job that isn't one, and of data in a job that doesn't write.
func (c *jobCheck) mix() {
	if j := c.job; j.RW != load.RW && j.RW != load.RandRW && j.RWMixRead != nil {
		c.fail("rwmixread", "has no effect on %s: leave it out, or set rw to rw or randrw", j.RW)
	}
	if c.set("buffer_pattern") && c.set("zero_buffers") {
		c.fail("buffer_pattern", "contradicts zero_buffers: leave out one of the two")
		return
	}
	for _, key := range []string{"zero_buffers", "buffer_pattern"} {
		if c.set(key) && (c.job.Data == load.DataZero || c.job.Data == load.DataPattern) && !c.job.Writes() {
			c.fail(key, "has no effect on %s, which writes nothing: leave it out", c.job.RW)
		}
	}
}

// syncs refuses syncs that sync nothing, or what is synced already.
func (c *jobCheck) syncs() {
	j := c.job
	set := func(key string) bool { return c.set(key) && (key != "end_fsync" || j.EndFsync) }
	all := j.RWMixRead != nil && *j.RWMixRead == 100 && (j.RW == load.RW || j.RW == load.RandRW)
	switch {
	case j.RW == load.Read || j.RW == load.RandRead:
		for _, key := range []string{"sync", "fsync", "fdatasync", "end_fsync"} {
			if set(key) {
				c.fail(key, "has no effect on %s: leave it out", j.RW)
			}
		}
		return
	case all:
		for _, key := range []string{"sync", "fsync", "fdatasync", "end_fsync"} {
			if set(key) {
				c.fail(key, "has no effect with rwmixread 100, which writes nothing: leave it out")
			}
		}
		return
	}
	// O_SYNC commits data and metadata of each write, O_DSYNC the same as fdatasync (open(2)).
	synced := map[string][]string{"sync": {"fsync", "fdatasync", "end_fsync"}, "dsync": {"fdatasync"}}
	for _, key := range synced[j.Sync] {
		if set(key) {
			c.fail(key, "has no effect with sync: %s, which commits every write already: leave out one of the two", j.Sync)
		}
	}
	for key, every := range map[string]int{"fsync": j.Fsync, "fdatasync": j.FDataSync} {
		if most := c.mostWrites(); int64(every) > most {
			c.fail(key, "never happens: a thread does %s at most; make it %d or less, or use end_fsync", many(most, "write"), most)
		}
	}
}

// mostWrites is the most writes that a thread can do.
func (c *jobCheck) mostWrites() int64 {
	j := c.job
	switch {
	case j.NumberIOs > 0:
		// The writes of ramp_time are synced, too.
		if j.RampTime == 0 {
			return j.NumberIOs
		}
	case j.Runtime == 0 && j.RampTime == 0:
		return max(j.Size/c.least/parts(j)*max(j.Loops, 1)*c.files, 1)
	}
	return maxCount
}

// generator asks the load generator, which checks bounds of its own.
func (c *jobCheck) generator() {
	j := c.job
	j.Filename = "file" // The worker sets it; a plan doesn't have it.
	for _, err := range leaves(j.Validate()) {
		var fault *load.OptionError
		if !errors.As(err, &fault) {
			continue
		}
		key := fault.Option
		if own, ok := keysOf[key]; ok {
			key = own
		}
		if key == "bssplit" {
			key = c.sizesKey()
		}
		if !c.failed[key] {
			c.fail(key, "%s", fault.Text)
		}
	}
}

// keysOf are the keys of a plan whose names differ from the load generator's.
var keysOf = map[string]string{"rw": "rw_number", "read_split": "bssplit", "write_split": "bssplit", "data": "zero_buffers", "pattern": "buffer_pattern", "ioengine": "io_engine", "nrfiles": "files"}

// leaves lists the errors that were joined into one.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// many is a count with its noun: "1 write", "3 writes".
func many(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
