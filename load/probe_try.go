package load

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// scratchSize is the length of the scratch file: one block for any device.
const scratchSize = 4096

// scratchWait is how long a probe waits for an I/O before it says that the engine hangs.
const scratchWait = 10 * time.Second

// scratch makes the file that engines are tried on and finds out whether it takes
// direct I/O.
func scratch(dir string) (path string, direct bool, err error) {
	f, err := os.CreateTemp(dir, ".plimsoll-probe-*")
	if err != nil {
		return "", false, fmt.Errorf("no scratch file: %w", err)
	}
	path = f.Name()
	p := make([]byte, scratchSize)
	fillRandom(p, 1)
	_, err = f.Write(p)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return "", false, fmt.Errorf("no scratch file: %w", err)
	}
	return path, tryEngine(PSync, path, true) == nil, nil
}

func removeScratch(path string) { os.Remove(path) }

// reason is the text of an error without the words that the probe's reader knows.
func reason(err error) string {
	var e *EngineError
	if errors.As(err, &e) {
		return e.Reason
	}
	return err.Error()
}

// tryEngine writes a block with the engine and reads it back.
func tryEngine(name, path string, direct bool) error {
	// A ring with IORING_SETUP_SINGLE_ISSUER belongs to the thread that first
	// used it; from another one io_uring_enter answers EEXIST.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	j := Job{RW: RW, BS: scratchSize, IODepth: 1, NumJobs: 1, Filename: path, Direct: direct, IOEngine: name}
	f, err := openTarget(j, path)
	if err != nil {
		return err
	}
	defer f.close()
	b, err := newBuffers(j, 1, 256, uint64(time.Now().UnixNano()))
	if err != nil {
		return err
	}
	defer b.close()
	slots := make([]slot, 1)
	e, err := newAsync(name, []*target{f}, slots, b)
	if err != nil {
		return err
	}
	if e != nil {
		// io_destroy waits for the kernel's grace period, 30 ms and more; nothing
		// here has to wait with it.
		defer func() { go e.close() }()
	}
	seg := b.takeSegment()
	for _, op := range []uint8{opWrite, opRead} {
		slots[0] = slot{op: op, buf: b.addr(0), size: scratchSize}
		if op == opWrite {
			slots[0].buf = b.addr(seg)
		}
		if err := tryOne(e, f, &slots[0]); err != nil {
			return fmt.Errorf("%s: %w", opNames[op], err)
		}
	}
	if !bytes.Equal(b.mem[:scratchSize], b.mem[int64(seg)*b.stride:][:scratchSize]) {
		return errors.New("what was read is not what was written")
	}
	return nil
}

// tryOne does the I/O of slot 0.
func tryOne(e asyncEngine, f *target, s *slot) error {
	var res int32
	if e == nil {
		res = f.transfer(s)
	} else {
		out, err := e.run([]uint32{0}, 1, scratchWait)
		if err != nil {
			return err
		}
		if len(out) != 1 {
			return fmt.Errorf("not complete after %v", scratchWait)
		}
		res = out[0].res
	}
	if res != scratchSize {
		return resultError(res)
	}
	return nil
}
