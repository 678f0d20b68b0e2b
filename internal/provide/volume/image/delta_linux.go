package image

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// A delta is the parts of an image that differ from another one: for each its offset, its length and a kind, in 8, 8 and 1 bytes, big endian, and behind data its
// bytes. The last one has the kind of the end, and the image's size as its offset.
const (
	deltaData = 'd'
	deltaHole = 'h'
	deltaEnd  = 'e'
)

// A part is a part of a file; physical is where its blocks are, 0 for a hole.
type part struct{ from, to, physical int64 }

// parts are the extents of a file, with holes between them.
func parts(f *os.File) (list []part, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at := int64(0)
	err = extents(f, func(e extent) {
		from, to := min(int64(e.logical), st.Size()), min(int64(e.logical+e.length), st.Size())
		if from > at {
			list = append(list, part{at, from, 0})
		}
		p := part{from, to, int64(e.physical)}
		switch {
		case e.flags&extentMoving != 0:
			p.physical = -1
		case e.flags&extentUnwritten != 0:
			p.physical = 0
		}
		list, at = append(list, p), to
	})
	if at < st.Size() {
		list = append(list, part{at, st.Size(), 0})
	}
	return list, err
}

// extentMoving are the flags of an extent whose place says nothing of its data: unknown, delayed, encoded, inline and the like.
// One that is unwritten is read as zeros.
const (
	extentMoving    = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400
	extentUnwritten = 0x800
)

// changes are the parts of a file that may differ from base, nil for none: whose blocks aren't the same ones.
func changes(f, base *os.File) ([]part, error) {
	if err := f.Sync(); err != nil { // Delayed blocks have no place yet.
		return nil, err
	}
	a, err := parts(f)
	if err != nil || base == nil {
		return slices.DeleteFunc(a, func(p part) bool { return p.physical == 0 }), err
	}
	b, err := parts(base)
	if err != nil {
		return nil, err
	}
	var list []part
	for _, p := range a {
		list = append(list, without(p, b)...)
	}
	return list, nil
}

// without returns what of a part isn't in the same place in others, which follow each other without gaps.
func without(p part, others []part) (list []part) {
	i, _ := slices.BinarySearchFunc(others, p.from, func(o part, at int64) int {
		if o.to <= at {
			return -1
		}
		return 1
	})
	for p.from < p.to {
		if i == len(others) { // The base is shorter.
			return append(list, p)
		}
		o, to := others[i], min(p.to, others[i].to)
		same := p.physical == 0 && o.physical == 0 || p.physical > 0 && o.physical > 0 && p.physical-p.from == o.physical-o.from
		if !same {
			list = append(list, part{p.from, to, p.physical})
		}
		if p.physical > 0 {
			p.physical += to - p.from
		}
		p.from, i = to, i+1
	}
	return list
}

// Diff writes what an image that doesn't change has, and base hasn't: another such image of which it shares blocks; "": all that it
// has. Only a map of blocks is compared, so its time is that of what has changed.
func Diff(ctx context.Context, path, base string, to io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var old *os.File
	if base != "" {
		if old, err = os.Open(base); err != nil {
			return err
		}
		defer old.Close()
	}
	list, err := changes(f, old)
	if err != nil {
		return fmt.Errorf("what has changed in %s: %w", path, err)
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	for _, p := range append(list, part{from: st.Size(), to: st.Size(), physical: end}) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writePart(to, f, p); err != nil {
			return err
		}
	}
	return nil
}

// end marks the last part of a delta.
const end = -2

func writePart(to io.Writer, f *os.File, p part) error {
	kind := byte(deltaData)
	switch p.physical {
	case 0:
		kind = deltaHole
	case end:
		kind = deltaEnd
	}
	head := binary.BigEndian.AppendUint64(nil, uint64(p.from))
	head = append(binary.BigEndian.AppendUint64(head, uint64(p.to-p.from)), kind)
	if _, err := to.Write(head); err != nil || kind != deltaData {
		return err
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, io.NewSectionReader(f, p.from, p.to-p.from), make([]byte, 1<<20))
	return err
}

// Patch makes an image at the path to from base and what Diff has written for it; base "": from nothing. If the disk can't share
// blocks, base is copied.
func Patch(ctx context.Context, base, to string, from io.Reader) error {
	return create(to, func(f *os.File) error {
		if base != "" {
			old, err := os.Open(base)
			if err != nil {
				return err
			}
			defer old.Close()
			if err := duplicate(ctx, f, old, SnapshotOptions{Copy: true}); err != nil {
				return err
			}
		}
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			if last, err := readPart(f, from); last || err != nil {
				return err
			}
		}
	})
}

// errDelta says that a delta can't have been written by Diff.
var errDelta = errors.New("this is no difference of images")

// readPart applies the next part of a delta. last is set at its end.
func readPart(f *os.File, from io.Reader) (last bool, err error) {
	var head [17]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return false, fmt.Errorf("%w: %w", errDelta, err)
	}
	at, n := int64(binary.BigEndian.Uint64(head[:])), int64(binary.BigEndian.Uint64(head[8:]))
	if at < 0 || n < 0 || at+n < 0 || at+n > imageMax {
		return false, errDelta
	}
	switch head[16] {
	case deltaEnd:
		return true, extend(f, at)
	case deltaHole:
		return false, eintr.Retry(func() error {
			return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, n)
		})
	case deltaData:
		_, err := io.CopyN(struct{ io.Writer }{io.NewOffsetWriter(f, at)}, from, n)
		return false, err
	}
	return false, errDelta
}

// imageMax is more than an image can have, in bytes.
const imageMax = 1 << 50
