package volume

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// A connection that breaks looks like the end of its data, and btrfs receive takes that for the end of a snapshot. So replication sends frames: the length in 4
// bytes, big endian, and as many bytes. The last frame has length 0, and the SHA-256 of all data follows.

// frameMax is the longest frame, in bytes.
const frameMax = 1 << 20

// A frameWriter writes frames. Close writes the last one, and must only be called after all data was written.
type frameWriter struct {
	w   io.Writer
	sum hash.Hash
}

func newFrameWriter(w io.Writer) *frameWriter { return &frameWriter{w, sha256.New()} }

func (f *frameWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), frameMax)]
		if _, err := f.w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part)))); err != nil {
			return n, err
		}
		if _, err := f.w.Write(part); err != nil {
			return n, err
		}
		f.sum.Write(part)
		n, p = n+len(part), p[len(part):]
	}
	return n, nil
}

func (f *frameWriter) Close() error {
	_, err := f.w.Write(append(make([]byte, 4), f.sum.Sum(nil)...))
	return err
}

// errCut says that the last frame didn't come, or isn't right.
var errCut = errors.New("the data has no end, or was damaged on its way: send it again")

// A frameReader reads what a frameWriter has written. It ends with io.EOF after the last frame alone.
type frameReader struct {
	r    io.Reader
	sum  hash.Hash
	left int
	// whole is set after the last frame.
	whole bool
}

func newFrameReader(r io.Reader) *frameReader { return &frameReader{r: r, sum: sha256.New()} }

func (f *frameReader) Read(p []byte) (int, error) {
	if f.whole {
		return 0, io.EOF
	}
	if f.left == 0 {
		if err := f.next(); err != nil {
			return 0, err
		}
	}
	n, err := f.r.Read(p[:min(len(p), f.left)])
	f.sum.Write(p[:n])
	f.left -= n
	if errors.Is(err, io.EOF) && !f.whole {
		err = errCut
	}
	return n, err
}

// next begins the next frame.
func (f *frameReader) next() error {
	var b [4]byte
	if _, err := io.ReadFull(f.r, b[:]); err != nil {
		return cut(err)
	}
	n := binary.BigEndian.Uint32(b[:])
	if n > frameMax {
		return errCut
	}
	f.left = int(n)
	if n > 0 {
		return nil
	}
	sum := make([]byte, sha256.Size)
	if _, err := io.ReadFull(f.r, sum); err != nil {
		return cut(err)
	}
	if !bytes.Equal(sum, f.sum.Sum(nil)) {
		return errCut
	}
	f.whole = true
	return io.EOF
}

// cut is the error of a connection that ended too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return fmt.Errorf("%w: %w", errCut, err)
}
