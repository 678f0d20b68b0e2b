package load

import (
	"errors"
	"fmt"
)

// ErrNotSupported matches errors that mean "not on this system".
var ErrNotSupported = errors.ErrUnsupported

// A DirectError says that the file system refuses direct I/O. There is no silent fallback: the caller decides whether
// buffered I/O is acceptable.
type DirectError struct {
	Path string
	Err  error
}

// Error implements error.
func (e *DirectError) Error() string {
	return fmt.Sprintf("%s: the file system refuses direct I/O (O_DIRECT): %v; use direct=0 or another place", e.Path, e.Err)
}

// Unwrap returns the error of the open.
func (e *DirectError) Unwrap() error { return e.Err }

// An UnwrittenError says that part of a region was never written: reading it would measure how fast zeros are made.
type UnwrittenError struct {
	Path string
	// Offset and Size are the region, FileSize the length of the file.
	Offset, Size, FileSize int64
	// Holes are the bytes of the region without an extent; Unwritten are the bytes that were allocated but never
	// written.
	Holes, Unwritten int64
}

// Error implements error.
func (e *UnwrittenError) Error() string {
	s := fmt.Sprintf("%s: bytes %d to %d can't be read for a measurement: ", e.Path, e.Offset, e.Offset+e.Size)
	if e.FileSize < e.Offset+e.Size {
		s += fmt.Sprintf("the file ends at %d", e.FileSize)
	} else {
		s += fmt.Sprintf("%d bytes are holes and %d allocated but never written", e.Holes, e.Unwritten)
	}
	return s + "; lay the file out by writing it"
}

// A SpaceError says that there is no room for a file.
type SpaceError struct {
	Path string
	// Needed and Available are in bytes; Available is -1 if unknown.
	Needed, Available int64
	Err               error
}

// Error implements error.
func (e *SpaceError) Error() string {
	if e.Available < 0 {
		return fmt.Sprintf("%s: %d bytes don't fit: %v; make size smaller or free space", e.Path, e.Needed, e.Err)
	}
	return fmt.Sprintf("%s: %d bytes are needed but %d are available: %v; make size smaller or free space", e.Path, e.Needed, e.Available, e.Err)
}

// Unwrap returns the error of the system.
func (e *SpaceError) Unwrap() error { return e.Err }

// An IOError is an I/O that failed during a job.
type IOError struct {
	// Path is the file, or the job's first file if the engine itself failed.
	Path string
	// Op is read, write, fsync or fdatasync, or the engine's name if that failed.
	Op string
	// Offset and Size say where it failed, in bytes; 0 for syncs and a failed engine.
	Offset, Size int64
	// Err is a syscall.Errno, or io.ErrUnexpectedEOF if the file ended.
	Err error
}

// Error implements error.
func (e *IOError) Error() string {
	if e.Size == 0 {
		return fmt.Sprintf("%s: %s: %v", e.Path, e.Op, e.Err)
	}
	return fmt.Sprintf("%s: %s of %d bytes at offset %d: %v", e.Path, e.Op, e.Size, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *IOError) Unwrap() error { return e.Err }

// An EngineError says why an I/O engine does not work on this system.
type EngineError struct {
	Engine string
	// Reason names the cause: seccomp, a sysctl, a limit.
	Reason string
	Err    error
}

// Error implements error.
func (e *EngineError) Error() string {
	return fmt.Sprintf("I/O engine %s: %s", e.Engine, e.Reason)
}

// Unwrap returns the error of the system.
func (e *EngineError) Unwrap() error { return e.Err }

// A ReplacedError says that the path no longer leads to the file that the caller checked. Nothing was read or written.
type ReplacedError struct{ Path string }

// Error implements error.
func (e *ReplacedError) Error() string {
	return fmt.Sprintf("%s: another file took its place after it was checked; nothing was written", e.Path)
}
