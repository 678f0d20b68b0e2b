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

// A slot is one I/O that a thread may have in flight. The engine identifies it by its number.
type slot struct {
	off   int64 // in the file
	start int64 // when the thread took up the I/O, on the run's clock
	due   int64 // when it should have started, in an open loop
	buf   uintptr
	done  int64 // bytes transferred by earlier attempts
	size  int64 // of the whole I/O, in bytes
	// walk is the position of the slot's next I/O, in bytes from the region's start, if each slot walks by itself.
	walk  int64
	seg   uint32
	file  uint16 // index of the target
	op    uint8
	state uint8 // countedIO, backIO, staleIO, and the index of a priority
}

// Flags of a slot's I/O.
const (
	countedIO uint8 = 1 << iota // taken up in the measured window, and charged to the budget
	backIO                      // reads back a write of the job
	staleIO                     // reads back a block that is overwritten during the read
	// The bits from prioShift on hold the index of its priority.
)

// is reports whether the slot's I/O has a flag.
func (sl *slot) is(state uint8) bool { return sl.state&state != 0 }

// A completion is the end of one attempt: res is the number of bytes, or -errno. A trim may exceed 2 GiB; its res is
// the lower half of the number of bytes. That can't be mistaken for an errno, because no errno is a multiple of a
// sector.
type completion struct {
	slot uint32
	res  int32
}

// forever is a timeout that never passes.
const forever = time.Duration(-1)

// An asyncEngine keeps many I/Os of one thread in flight. Only that thread calls it, once per batch, so the I/Os of a
// batch share the cost of the call.
type asyncEngine interface {
	// run submits the slots in batch and waits until want I/Os are complete or the timeout has passed (forever: no
	// timeout). The result is valid until the next call.
	run(batch []uint32, want int, timeout time.Duration) ([]completion, error)
	// close releases everything. No I/O may be in flight.
	close() error
}

// nullEngine completes each I/O at once, which leaves the cost of the generator itself.
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
