package load

import "fmt"

// looksForRoom is the size of buffers, in bytes, from which the available memory is checked before they are allocated.
const looksForRoom = 8 << 30

// buffersFit refuses a job whose buffers don't fit into the machine's memory: the kernel would kill this process or
// another.
func (j Job) buffersFit(available func() int64) error {
	if j.trims() {
		return nil
	}
	need := j.maxBlock() * int64(j.IODepth) * int64(j.NumJobs)
	if need < looksForRoom {
		return nil
	}
	if have := available(); need > have {
		return &OptionError{"iodepth", fmt.Sprint(j.IODepth), fmt.Sprintf("with bs=%d and numjobs=%d the buffers would take %d MiB, and %d MiB of memory are available; lower one of the three", j.BS, j.NumJobs, need>>20, have>>20)}
	}
	return nil
}
