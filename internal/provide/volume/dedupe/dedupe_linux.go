package dedupe

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/text/refusal"
)

// A spot is a part of a file.
type spot struct {
	file   int
	offset int64
}

// A run remembers what it has seen.
type run struct {
	root  *os.Root
	names []string
	// first is the first spot with a hash. Sixteen bytes of it suffice, since the kernel compares the data itself.
	first map[[16]byte]spot
	// source is the last file that was shared with, which is often the next one as well.
	source   *os.File
	sourceOf int
	done     Done
}

// Folder shares the blocks of equal parts of the regular files in a folder. It is a refusal if the file system can't share.
func Folder(ctx context.Context, folder string) (Done, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Done{}, err
	}
	defer root.Close()
	r := &run{root: root, first: map[[16]byte]spot{}, sourceOf: -1}
	defer r.forget()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			r.done.Skipped++ // It went away.
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		return r.file(ctx, name)
	})
	return r.done, err
}

// file shares the parts of one file.
func (r *run) file(ctx context.Context, name string) error {
	f, err := r.open(name)
	if err != nil {
		r.done.Skipped++
		return nil
	}
	defer f.Close()
	r.names = append(r.names, name)
	r.done.Files++
	buf := make([]byte, part)
	for at := int64(0); ctx.Err() == nil; at += part {
		// Holes have nothing to share.
		data, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if err != nil {
			return nil
		}
		at = max(at, data&^(part-1))
		n, err := f.ReadAt(buf, at)
		if n < part {
			// The rest of a file is shared only with the rest of another: the kernel wants whole blocks.
			if err != nil && !errors.Is(err, io.EOF) {
				r.done.Skipped++
			}
			return nil
		}
		r.done.Read += part
		if err := r.part(f, spot{len(r.names) - 1, at}, buf); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// open opens a regular file for reading.
func (r *run) open(name string) (*os.File, error) {
	f, err := r.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("not a regular file"), f.Close())
	}
	return f, nil
}

// part shares one part with an earlier one that looks the same.
func (r *run) part(f *os.File, at spot, data []byte) error {
	sum := sha256.Sum256(data)
	key := [16]byte(sum[:16])
	from, seen := r.first[key]
	if !seen {
		if len(r.first) < most {
			r.first[key] = at
		}
		return nil
	}
	source, err := r.sourceFile(from.file)
	if err != nil {
		r.first[key] = at // The first one went away.
		return nil
	}
	q := unix.FileDedupeRange{Src_offset: uint64(from.offset), Src_length: part, Info: []unix.FileDedupeRangeInfo{{Dest_fd: int64(f.Fd()), Dest_offset: uint64(at.offset)}}}
	err = unix.IoctlFileDedupeRange(int(source.Fd()), &q)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTTY):
		return &refusal.Error{What: "dedupe", Why: fmt.Sprintf("the file system of %s can't share blocks between files", r.root.Name()), Fix: "use a volume on xfs or btrfs"}
	case err != nil:
		r.done.Skipped++
		return nil
	case q.Info[0].Status == unix.FILE_DEDUPE_RANGE_DIFFERS:
		r.first[key] = at // The first one has changed.
	case q.Info[0].Status < 0:
		r.done.Skipped++ // A file is locked against changes.
	default:
		r.done.Shared += int64(q.Info[0].Bytes_deduped)
	}
	return nil
}

// sourceFile opens the file with the first of a part.
func (r *run) sourceFile(file int) (*os.File, error) {
	if r.sourceOf == file {
		return r.source, nil
	}
	f, err := r.open(r.names[file])
	if err != nil {
		return nil, err
	}
	r.forget()
	r.source, r.sourceOf = f, file
	return f, nil
}

// forget closes the source.
func (r *run) forget() {
	if r.source != nil {
		r.source.Close()
	}
	r.source, r.sourceOf = nil, -1
}
