package load

import "time"

// engineNames lists the engines from the strongest to the weakest.
var engineNames = systemEngines

// Operations of a job, as indices of its classes.
const (
	opRead = iota
	opWrite
	opSync
	opCount
)

var opNames = [opCount]string{"read", "write", "sync"}

// A slot is one I/O that a thread may have in flight. Its number is its identity
// in the engine.
type slot struct {
	off   int64 // where in the file
	start int64 // when the thread took it up, on the run's clock
	due   int64 // when it should have been, in an open loop
	buf   uintptr
	done  int64 // bytes transferred by earlier tries
	size  int64 // of the whole I/O, in bytes
	// walk is where the slot's next I/O goes, in bytes from the region's start, if each walks by itself.
	walk  int64
	seg   uint32
	file  uint16 // index of the target
	op    uint8
	state uint8 // countedIO, backIO, staleIO, and the number of a priority
}

// The kinds of a slot's I/O.
const (
	countedIO uint8 = 1 << iota // it was taken up in the measured window, out of the budget
	backIO                      // it reads back a write of the job
	staleIO                     // the block that it reads back is being written meanwhile
	// From prioShift on: the number of its priority.
)

// is reports whether the slot's I/O is of a kind.
func (sl *slot) is(state uint8) bool { return sl.state&state != 0 }

// A completion is the end of one try: res is the number of bytes or -errno. Of a trim, which may have more than 2 GiB, it is the lower
// half of that number, which is none of an errno: that is no multiple of a sector.
type completion struct {
	slot uint32
	res  int32
}

// forever is the timeout that never comes.
const forever = time.Duration(-1)

// An asyncEngine keeps many I/Os of one thread in flight. It is called from that
// thread only, once a batch, so that the cost of the call is shared by a batch.
type asyncEngine interface {
	// run submits the slots in batch and waits until want I/Os are complete or
	// the timeout is over (forever: never). The answer is valid until the next call.
	run(batch []uint32, want int, timeout time.Duration) ([]completion, error)
	// close gives everything back. No I/O may be in flight.
	close() error
}

// nullEngine completes each I/O at once: what is left is the generator itself.
type nullEngine struct {
	slots []slot
	out   []completion
}

func (e *nullEngine) run(batch []uint32, _ int, _ time.Duration) ([]completion, error) {
	out := e.out[:0]
	for _, s := range batch {
		out = append(out, completion{s, int32(e.slots[s].size)})
	}
	e.out = out
	return out, nil
}

func (e *nullEngine) close() error { return nil }
