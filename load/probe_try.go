package load

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// scratchSize is the length of the scratch file: one block on any device.
const scratchSize = 4096

// scratchWait is how long a probe waits for an I/O before it reports that the engine hangs.
const scratchWait = 10 * time.Second

// scratch creates the file on which engines are tried, and finds out whether it supports direct I/O.
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

// reason returns the text of an error without the parts that a probe's reader already knows.
func reason(err error) string {
	var e *EngineError
	if errors.As(err, &e) {
		return e.Reason
	}
	return err.Error()
}

// tryEngine writes a block of the file with the engine and reads it back.
func tryEngine(name, path string, direct bool) error {
	return onOwnThread(func() error {
		return tryOps(name, path, direct, opWrite, opRead)
	})
}

// tryReading reads the first block of the file with the engine. Unlike tryEngine it changes nothing, and it proves
// less: an empty file will do.
func tryReading(name, path string, direct bool) error {
	return onOwnThread(func() error {
		return tryOps(name, path, direct, opRead)
	})
}

// onOwnThread calls try on a thread of its own. A ring with IORING_SETUP_SINGLE_ISSUER belongs to the thread that first
// used it; on any other thread io_uring_enter returns EEXIST.
func onOwnThread(try func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // It is never unlocked.
		done <- try()
	}()
	return <-done
}

// tryOps does the operations with the engine, one after another on the same block.
func tryOps(name, path string, direct bool, ops ...uint8) (err error) {
	j := Job{RW: RW, BS: scratchSize, IODepth: 1, NumJobs: 1, Filename: path, Direct: direct, IOEngine: name}
	open := j
	if !slices.Contains(ops, opWrite) {
		open.RW = Read
	}
	f, err := openTarget(open, path)
	if err != nil {
		return err
	}
	defer f.close()
	b, err := newBuffers(j, 1, 256, uint64(time.Now().UnixNano()))
	if err != nil {
		return err
	}
	slots := make([]slot, 1)
	e, err := newAsync(name, []*target{f}, slots, b)
	if err != nil {
		return errors.Join(err, b.close())
	}
	hung := false
	defer func() {
		if !hung {
			err = errors.Join(err, b.close())
		} // If it hung, the kernel may still write to the buffers.
		switch {
		case e == nil:
		case name == LinuxAIO:
			// io_destroy waits for the kernel's grace period, 30 ms or more; there is no reason to wait for it here.
			// Its only possible error is an invalid context.
			go e.close()
		default:
			err = errors.Join(err, e.close())
		}
	}()
	seg := b.takeSegment()
	for _, op := range ops {
		slots[0] = slot{op: op, buf: b.addr(0), size: scratchSize}
		if op == opWrite {
			slots[0].buf, slots[0].seg = b.addr(seg), seg
		}
		if err := tryOne(e, f, &slots[0], len(ops) > 1); err != nil {
			hung = errors.Is(err, errHung)
			return fmt.Errorf("%s: %w", opNames[op], err)
		}
	}
	if len(ops) > 1 && !bytes.Equal(b.mem[:scratchSize], b.mem[int64(seg)*b.stride:][:scratchSize]) {
		return errors.New("the data read differs from the data written")
	}
	return nil
}

// errHung is the error of a probe's I/O that doesn't complete.
var errHung = fmt.Errorf("not complete after %v", scratchWait)

// tryOne does the I/O of slot 0. With whole, a short I/O is an error.
func tryOne(e asyncEngine, f *target, s *slot, whole bool) error {
	var res int32
	if e == nil {
		res = f.transfer(s)
	} else {
		const refused = -int32(syscall.EAGAIN)
		end := time.Now().Add(scratchWait)
		for res = refused; res == refused && time.Now().Before(end); {
			out, err := e.run([]uint32{0}, 1, scratchWait)
			if err != nil {
				return err
			}
			if len(out) != 1 {
				return errHung
			}
			res = out[0].res
		}
	}
	if res < 0 || whole && res != scratchSize {
		return resultError(res)
	}
	return nil
}
