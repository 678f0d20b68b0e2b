package load

import (
	"context"
	"fmt"
	"os"
	"time"
)

// LayoutOptions control how Layout treats the file.
type LayoutOptions struct {
	// Reuse takes an existing regular file as the caller's own. It is kept if it has the right size and is fully
	// written; otherwise it is replaced. Without Reuse, an existing file that isn't empty is an error.
	Reuse bool
	// Seed makes the data repeatable. 0: a fixed seed.
	Seed uint64
	// Opened, if not nil, receives the descriptor of the file once it is open, before anything is written.
	Opened func(fd uintptr)
}

// A LayoutResult reports what Layout did.
type LayoutResult struct {
	// Reused means that the file was complete and nothing was written.
	Reused bool `json:"reused"`
	// Elapsed is the time that writing and syncing took, Rate the bandwidth of that in bytes per second: the place's
	// first-touch bandwidth. 0 if reused.
	Elapsed time.Duration `json:"elapsed"`
	Rate    float64       `json:"rate"`
	// Direct reports whether the file was written with direct I/O.
	Direct bool `json:"direct"`
	// Info is the state of the file afterwards.
	Info FileInfo `json:"info"`
}

// An ExistsError says that a file exists that Plimsoll did not make and will not overwrite.
type ExistsError struct {
	Path string
	// What describes the file: "a file of 4096 bytes", "not a regular file".
	What string
}

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s: there is %s; it is not overwritten, choose another path", e.Path, e.What)
}

// Layout creates the file at path with size bytes of incompressible data, each block different, and syncs it. A job on
// the file then meets no hole and no unwritten or delayed extent; Layout verifies that. The file is dropped from the
// page cache. On an error, or when ctx is done, a partial file is removed. A file that doesn't fit is a *SpaceError.
func Layout(ctx context.Context, path string, size int64, opt LayoutOptions) (LayoutResult, error) {
	f, res, err := LayoutFile(ctx, path, size, opt)
	if f != nil {
		f.Close() // It is already synced.
	}
	return res, err
}

// LayoutFile is Layout for a caller that goes on with the file that was laid out, even if its path leads elsewhere by
// then. The file is nil on an error, and if an existing file was reused.
func LayoutFile(ctx context.Context, path string, size int64, opt LayoutOptions) (*os.File, LayoutResult, error) {
	if size <= 0 {
		return nil, LayoutResult{}, fmt.Errorf("layout %s: size %d must be positive", path, size)
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
