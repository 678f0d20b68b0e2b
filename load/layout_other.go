//go:build !linux

package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// layout writes the file buffered and syncs it.
func layout(ctx context.Context, path string, size int64, opt LayoutOptions) (f *os.File, res LayoutResult, err error) {
	if st, err := os.Lstat(path); err == nil {
		switch {
		case !st.Mode().IsRegular():
			return nil, res, &ExistsError{path, "something else than a regular file"}
		case opt.Reuse && st.Size() == size:
			res.Reused, res.Info = true, unknownInfo(size)
			return nil, res, nil
		case !opt.Reuse && st.Size() > 0:
			return nil, res, &ExistsError{path, fmt.Sprintf("a file of %d bytes", st.Size())}
		}
		if st.Size() > 0 {
			if err := os.Remove(path); err != nil {
				return nil, res, err
			}
		}
	}
	f, made, err := empty(path)
	if err != nil {
		return nil, res, err
	}
	if opt.Opened != nil {
		opt.Opened(f.Fd())
	}
	start := time.Now()
	err = writeAll(ctx, f, size, opt.Seed)
	if err != nil && !made {
		err = errors.Join(err, f.Truncate(0))
	}
	if err != nil {
		err = errors.Join(err, f.Close())
		if made {
			err = errors.Join(err, os.Remove(path))
		}
		return nil, res, err
	}
	res.Elapsed = time.Since(start)
	res.Rate = float64(size) / res.Elapsed.Seconds()
	res.Info = unknownInfo(size)
	return f, res, nil
}

// empty creates the file, or opens it if it is there and empty.
func empty(path string) (f *os.File, made bool, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if !errors.Is(err, os.ErrExist) {
		return f, err == nil, err
	}
	if f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return nil, false, err
	}
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		err = &ExistsError{path, fmt.Sprintf("a file of %d bytes", st.Size())}
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	return f, false, nil
}

func writeAll(ctx context.Context, f *os.File, size int64, seed uint64) error {
	p := make([]byte, 1<<20)
	for off := int64(0); off < size; off += int64(len(p)) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: broken off: %w", f.Name(), context.Cause(ctx))
		}
		n := min(int64(len(p)), size-off)
		fillRandom(p[:n], seed+uint64(off))
		stamp(p[:n], off, seed)
		if _, err := f.WriteAt(p[:n], off); err != nil {
			return err
		}
	}
	return f.Sync()
}
