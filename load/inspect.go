package load

import "fmt"

// A FileInfo holds what the file system reports about a region of a file. -1 means that it does not report the value.
type FileInfo struct {
	// Size is the length of the whole file in bytes.
	Size int64 `json:"size"`
	// Extents, Unwritten, Shared and Delalloc count the extents that touch the region: all of them; those allocated but
	// never written; those shared with another file or snapshot, which the next write has to copy; and those whose
	// place on the device isn't chosen yet.
	Extents   int `json:"extents"`
	Unwritten int `json:"unwritten"`
	Shared    int `json:"shared"`
	Delalloc  int `json:"delalloc"`
	// HoleBytes are the bytes of the region without an extent, including those beyond the end of the file;
	// UnwrittenBytes are those in unwritten extents.
	HoleBytes      int64 `json:"hole_bytes"`
	UnwrittenBytes int64 `json:"unwritten_bytes"`
	// DIOMemAlign and DIOAlign are the alignments in bytes that direct I/O needs of memory, and of offset and size. 0:
	// the file does not support direct I/O.
	DIOMemAlign int64 `json:"dio_mem_align"`
	DIOAlign    int64 `json:"dio_align"`
	// Resident is the share of the region in the page cache, 0 to 1.
	Resident float64 `json:"resident"`
}

// unknownInfo returns a FileInfo in which only the size is known.
func unknownInfo(size int64) FileInfo {
	return FileInfo{
		Size: size, Extents: -1, Unwritten: -1, Shared: -1, Delalloc: -1,
		HoleBytes: -1, UnwrittenBytes: -1, DIOMemAlign: -1, DIOAlign: -1, Resident: -1,
	}
}

// Inspect reports what the file system knows about size bytes at off of the file at path; size 0 means to the end. It
// changes nothing: data that isn't on disk yet shows as Delalloc or Unwritten.
func Inspect(path string, off, size int64) (FileInfo, error) {
	if off < 0 || size < 0 {
		return FileInfo{}, fmt.Errorf("inspect %s: offset %d and size %d must not be negative", path, off, size)
	}
	info, err := inspectPath(path, off, size)
	if err != nil {
		return info, fmt.Errorf("inspect: %w", err)
	}
	return info, nil
}
