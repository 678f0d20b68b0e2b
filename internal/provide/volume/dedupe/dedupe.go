// Package dedupe lets equal parts of a folder's files share their blocks, on btrfs and xfs.
//
// It reads the files in parts of 128 KiB, remembers a hash of each, and asks the kernel to share a part with the first one of
// the same hash (FIDEDUPERANGE, ioctl_fideduperange(2)). The kernel locks both, compares them byte by byte, and refuses if they
// differ. So a file that changes meanwhile, or that a container replaces by another, loses nothing.
//
// Easily got wrong: the content belongs to containers. Files are opened beneath the folder alone (os.Root), never through a symbolic link,
// and without waiting for the other end of a pipe.
package dedupe

// Done is what a run has done, in bytes.
type Done struct {
	// Read is what was read and compared, Shared what now shares its blocks with another part.
	Read, Shared int64
	// Files were read; Skipped could not be, since they went away or were locked.
	Files, Skipped int
}

// part is the unit of comparison: the largest that every kernel takes in one call is 16 MiB, and the smallest that
// doesn't scatter files is about this one (bees and duperemove use the same).
const part = 128 << 10

// most bounds the parts that are remembered: half a TiB, in some 300 MB of memory.
const most = 4 << 20
