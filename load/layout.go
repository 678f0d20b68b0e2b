package load

import (
	"context"
	"fmt"
	"os"
	"time"
)

// LayoutOptions say how Layout treats the file.
type LayoutOptions struct {
	// Reuse takes a regular file that is already there as the caller's own: it
	// stays as it is if it has the right size and is written throughout, else it is
	// replaced. Without Reuse an existing file that isn't empty is an error.
	Reuse bool
	// Seed makes the data repeatable. 0: a fixed seed.
	Seed uint64
	// Opened, if not nil, gets the descriptor of the file when it is open, before anything is written.
	Opened func(fd uintptr)
}

// A LayoutResult says what Layout did.
type LayoutResult struct {
	// Reused: the file was complete and nothing was written.
	Reused bool `json:"reused"`
	// Elapsed is how long writing and syncing took, Rate the bandwidth of that in
	// bytes per second: the place's first-touch bandwidth. 0 if reused.
	Elapsed time.Duration `json:"elapsed"`
	Rate    float64       `json:"rate"`
	// Direct is whether it was written with direct I/O.
	Direct bool `json:"direct"`
	// Info is the state of the file afterwards.
	Info FileInfo `json:"info"`
}

// An ExistsError is the refusal to overwrite a file that Plimsoll did not make.
type ExistsError struct {
	Path string
	// What describes the file: "a file of 4096 bytes", "not a regular file".
	What string
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s: there is %s; it is not overwritten, choose another path", e.Path, e.What)
}

// Layout makes the file at path of size bytes by writing data that can't be compressed,
// each block different, and syncs it, so that a job on it meets no hole, no unwritten and no
// delayed extent, which is then verified. The file is dropped from the page cache. On an error or when
// ctx is done a partial file is removed. A file that doesn't fit is a *SpaceError.
func Layout(ctx context.Context, path string, size int64, opt LayoutOptions) (LayoutResult, error) {
	f, res, err := LayoutFile(ctx, path, size, opt)
	if f != nil {
		f.Close() // It is synced.
	}
	return res, err
}

// LayoutFile is Layout for a caller that goes on with the very file that was laid out, wherever its path leads by then. The file is
// nil with an error, and one that was reused.
func LayoutFile(ctx context.Context, path string, size int64, opt LayoutOptions) (*os.File, LayoutResult, error) {
	if size <= 0 {
		return nil, LayoutResult{}, fmt.Errorf("layout %s: size %d has to be positive", path, size)
	}
	if opt.Seed == 0 {
		opt.Seed = defaultSeed
	}
	f, res, err := layout(ctx, path, size, opt)
	if err != nil {
		return nil, res, fmt.Errorf("layout: %w", err)
	}
	return f, res, nil
}
