package row

import (
	"fmt"
	"math"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

const (
	// smallBS is the size of an I/O under a limit on I/Os; bigBS is the maximum size under a limit on bytes.
	smallBS = 4 << 10
	bigBS   = 256 << 10
	// leastFile and mostFile bound the size of the scratch file in bytes. Only buffered reads, which go through the
	// file once, could use a larger one.
	leastFile = 4 << 20
	mostFile  = 512 << 20
	// largeIO is the minimum size of the I/Os that write the scratch file. Actual I/Os are larger, and no device takes
	// them in smaller pieces.
	largeIO = 128 << 10
	// perSecond is the minimum number of I/Os per second under a limit on bytes. Fewer would show the limiter's slices
	// instead of its rate.
	perSecond = 64
	// depth keeps a limiter busy: more I/O waits at it than it lets through at once.
	depth = 16
	// writers is the number of threads that write through the cache at once. With more, they wait for each other's
	// syncs.
	writers = 4
	// readers is the number of threads that read, for each device, if there are several.
	readers = 4
	// gap is the distance between two small writes through the page cache, in bytes: they go to every second block.
	gap = smallBS
)

// cached reports whether written data is left in the page cache, from which adjacent blocks go to the device together.
func (m Mode) cached() bool { return m == BufferedSync || m == Buffered }

// job returns the I/O that tests a limit in a mode. All jobs of a request share one file.
func (r Request) job(key limit.Key, mode Mode) load.Job {
	j := load.Job{RW: load.Read, BS: r.blockSize(key), Size: r.fileSize(), Runtime: r.Time, SampleEvery: sampleEvery}
	switch {
	case key.Writes() && key.IOPS() && !mode.cached():
		j.RW = load.RandWrite
	case key.Writes() && key.IOPS():
		// The kernel merges adjacent blocks into one I/O, in whatever order they were written. The gap between them
		// prevents that.
		j.RW, j.RWNumber = load.Write, gap
	case key.Writes():
		j.RW = load.Write
	case key.IOPS():
		j.RW = load.RandRead
	}
	switch mode {
	case Direct:
		j.Direct, j.IODepth = true, depth*r.members()
		if !key.Writes() && r.Members > 1 {
			// The reading thread determines which copy is read (btrfs takes the thread's number modulo the number of
			// copies).
			j.NumJobs, j.IODepth = readers*r.members(), depth
		}
	case DSync:
		j.Sync, j.IOEngine, j.NumJobs = "dsync", load.PSync, writers
	case BufferedSync:
		// One pass: a block that is written twice may reach the device only once.
		j.IOEngine, j.EndFsync, j.Runtime = load.PSync, true, 0
		j.IOSize = r.once(key, j)
	case Buffered:
		// One pass: a second pass of reads would find everything in the cache, and a block that is written twice before
		// it is flushed reaches the device only once.
		j.IOEngine, j.Runtime, j.IOSize = load.PSync, 0, r.once(key, j)
		if j.RW == load.RandRead {
			j.NumJobs, j.Runtime, j.IOSize = writers, r.Time, 0
		}
	}
	return j
}

// blockSize returns the size of the I/Os that test a limit.
func (r Request) blockSize(key limit.Key) int64 {
	if key.IOPS() {
		return smallBS
	}
	bs := int64(smallBS)
	for bs < bigBS && 2*bs*perSecond <= r.Asked[key] {
		bs *= 2
	}
	return bs
}

// members returns the number of devices that share the data.
func (r Request) members() int { return max(r.Members, 1) }

// bytes returns how much a limit lets through in the time of a row, on all of the devices.
func (r Request) bytes(key limit.Key, bs int64) int64 {
	rate := r.Asked[key]
	if key.IOPS() {
		rate = times(rate, bs)
	}
	n := times(times(rate, int64(r.members())), int64(r.Time.Seconds()))
	return max(n/bs*bs, leastFile)
}

// once returns the number of bytes of a job that goes through its file once: what the limit lets through in the time of
// a row, or the size of the file.
func (r Request) once(key limit.Key, j load.Job) int64 {
	if j.RWNumber == 0 {
		return min(j.Size, r.bytes(key, j.BS))
	}
	n := r.spread()
	if w := r.under(key); w > 0 {
		// If the kernel's limit is far below the requested one, that many would take hours.
		n = min(n, max(2*times(times(w, int64(r.members())), int64(r.Time.Seconds())), 1))
	}
	return min(n, j.Size/(j.BS+gap)) * j.BS
}

// spread returns the number of small writes that their limit lets through in the time of a row.
func (r Request) spread() int64 {
	n := times(times(r.Asked[limit.WriteIOPS], int64(r.members())), int64(r.Time.Seconds()))
	most := int64(mostFile)
	if r.Free > 0 {
		most = min(most, r.Free)
	}
	return max(min(n, most/(smallBS+gap)), 1)
}

// times returns a product, capped at the maximum file size.
func times(a, b int64) int64 {
	if a > mostFile/max(b, 1) {
		return mostFile
	}
	return a * b
}

// fileSize returns the size of the scratch file: what the greatest limit lets through in a row's time, but no more than
// the limits on writes allow to be written in twice that time, because the file itself is written under them.
func (r Request) fileSize() int64 {
	n := int64(leastFile)
	for _, key := range keys {
		if r.Asked[key] > 0 {
			n = max(n, r.bytes(key, r.blockSize(key)))
		}
	}
	if r.Asked[limit.WriteIOPS] > 0 && (r.wants(BufferedSync) || r.wants(Buffered)) {
		n = max(n, r.spread()*(smallBS+gap))
	}
	if w := r.Asked[limit.WriteBPS]; w > 0 {
		n = min(n, max(2*r.bytes(limit.WriteBPS, smallBS), leastFile))
	}
	if w := r.Asked[limit.WriteIOPS]; w > 0 {
		n = min(n, max(2*times(times(w, largeIO), int64(r.Time.Seconds())), leastFile))
	}
	return min(n, mostFile) / bigBS * bigBS
}

// MostLayOut is the maximum time to write the scratch file before anything can be measured.
const MostLayOut = 2 * time.Minute

// under returns the kernel's limit on k, or 0 for none.
func (r Request) under(k limit.Key) int64 {
	if r.Under != nil {
		return r.Under[k]
	}
	return r.Asked[k]
}

// written returns the minimum time in which that many bytes can be written under the kernel's limits, in I/Os of that
// size.
func (r Request) written(bytes, io int64) time.Duration {
	seconds := 0.0
	if w := r.under(limit.WriteBPS); w > 0 {
		seconds = float64(bytes) / float64(w)
	}
	if w := r.under(limit.WriteIOPS); w > 0 {
		seconds = max(seconds, float64(bytes)/float64(io)/float64(w))
	}
	return time.Duration(min(seconds*1e9, float64(math.MaxInt64/2)))
}

// LayOut returns the time to write the scratch file under the kernel's limits on writes. It is written in the limited
// groups, where it can't be interrupted.
func (r Request) LayOut() time.Duration { return r.written(r.Room(), largeIO) }

// Lasts returns about how long the request takes.
func (r Request) Lasts() time.Duration {
	if r.Time == 0 {
		r.Time = DefaultTime
	}
	all := r.LayOut()
	r.pairs(func(key limit.Key, mode Mode) {
		row := r.Time
		j := r.job(key, mode)
		// A job with a fixed number of bytes lasts as long as these take.
		switch {
		case j.Runtime == 0 && j.RWNumber > 0:
			row = max(row, r.written(j.IOSize, j.BS))
		case j.Runtime == 0 && key.Writes():
			row = max(row, r.written(j.IOSize, largeIO))
		case j.Runtime == 0 && key == limit.ReadBPS && r.under(key) > 0:
			row = max(row, time.Duration(float64(j.IOSize)/float64(r.under(key))*1e9))
		}
		all += row
	})
	return all
}

// bindsFirst says why a limit can't be tested if the other limit of its direction is tighter at the row's block size;
// "" if it can.
func (r Request) bindsFirst(key limit.Key, bs int64) string {
	other := r.Asked[partner(key)]
	if other <= 0 {
		return ""
	}
	if key.IOPS() {
		if other/bs < r.Asked[key] {
			return fmt.Sprintf("%s of %s/s lets no more than %d I/Os of %s through", partner(key), size.Bytes(other), other/bs, size.Bytes(bs))
		}
		return ""
	}
	if other < r.Asked[key]/bs {
		return fmt.Sprintf("%s of %d lets no more than %s/s of I/Os of %s through", partner(key), other, size.Bytes(other*bs), size.Bytes(bs))
	}
	return ""
}
