// Package image keeps a volume in a disk image: a file with a file system of its own, on a loop device, mounted on a folder.
//
// The image's device has exactly the volume's capacity. A thin image is sparse, a thick one has all of its blocks. The volume is the folder
// data of the file system, which is empty at first: ext4's root has lost+found, and neither Docker nor a database takes that for
// empty. For btrfs it is a subvolume, and its snapshots are beside it.
//
// A call that is killed leaves nothing but a temporary file, which Sweep removes, or a Grow to be repeated: the mount appears at its
// folder complete or not at all, and the kernel detaches the loop device with its last user. An image is never made again: one that
// is missing, truncated or damaged is an error that says what to do.
//
// The mistake easily made is a second loop device on an image, which corrupts it. So each call locks the image (flock(2)), and looks
// by device and inode for the loop device that has it. Calls for one volume wait for each other, except Unmount.
//
// An encrypted image is a LUKS header and the volume's capacity behind it. Its file system is on a device of the device mapper, which
// is on the loop device, and is gone with its last user as well (package luks).
//
// The content belongs to containers, which may put anything there. No path below data is opened here.
package image

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/provide/volume/key"
)

// Errors of images, for errors.Is. A damaged file system is a *filesystem.DamagedError. What the machine can't do is a refusal.
var (
	ErrMissing   = errors.New("the image is missing")
	ErrTruncated = errors.New("the image was truncated")
	ErrNotImage  = errors.New("not a volume's image")
	// ErrExists says that the image to be made exists.
	ErrExists = errors.New("it exists already")
	// ErrFull says that the disk of the image has too little space.
	ErrFull = errors.New("the disk is full")
)

// A Spec describes an image to be made.
type Spec struct {
	// Filesystem is the kind; "": ext4.
	Filesystem filesystem.Kind
	// Size is the capacity in bytes. It is rounded up to 4096.
	Size int64
	// Thick allocates the whole image at once.
	Thick bool
	// Label is the file system's label; ext4 has 16 bytes for it, xfs 12.
	Label string
	// Key opens the image, which is encrypted. None: it isn't.
	Key key.Source
}

// MountOptions are choices of a mount. They are no part of the image.
type MountOptions struct {
	ReadOnly bool
	// Discard returns blocks that files no longer use to the disk of the image. A thick image should stay allocated.
	Discard bool
	// Compression of files that are written from now on, for btrfs alone: "", "lzo", "zlib" or "zstd".
	Compression string
	// Key opens the image, which must be encrypted if there is one, and must not be if there is none.
	Key key.Source
}

// Mounted is a mounted image.
type Mounted struct {
	// Root is the folder of the volume's content.
	Root string
	// Device is the number of the device with the file system, Source its path: the loop device, or the encrypted one on it.
	Device     device.Number
	Source     string
	Filesystem filesystem.Kind
	// Already is set if it was mounted before the call.
	Already bool
	// Note says what isn't as it should be, such as a device without direct I/O. It may be empty.
	Note string
}

// Info describes an image. Of the file system in an encrypted one nothing is known without the key: there the UUID is LUKS's, and the
// kind, size and label of the file system are empty.
type Info struct {
	Encrypted  bool
	Filesystem filesystem.Kind
	// Size is the capacity in bytes, without the header of LUKS, Allocated what the image takes of its disk.
	Size, Allocated int64
	// FilesystemSize is less than Size if a Grow was interrupted, or the file system has no use for the last blocks.
	FilesystemSize int64
	UUID, Label    string
}

// SnapshotOptions are choices of a copy of an image.
type SnapshotOptions struct {
	// Copy copies all data if the file system of the image can't share blocks between files. Writes to the volume wait meanwhile.
	Copy bool
	// Key opens an encrypted image that is to be cloned.
	Key key.Source
}

// A BusyError says that programs use a volume that is to be unmounted.
type BusyError struct {
	Target string
	// Unmounted is set if the volume is gone from Target, but other mounts of it keep its device.
	Unmounted bool
	// Users are processes: "postgres (process 12)".
	Users []string
}

// Error names the users.
func (e *BusyError) Error() string {
	s := e.Target + " is in use"
	if e.Unmounted {
		s = e.Target + " is unmounted, but other mounts keep its device"
	}
	if len(e.Users) == 0 {
		return s + ": no process with an open file was found; another mount may be on it"
	}
	return fmt.Sprintf("%s by %s: stop them first", s, strings.Join(e.Users, ", "))
}

// dataName is the folder of the file system that is the volume.
const dataName = "data"

// snapshotsName is the folder of a btrfs with its snapshots, beside the volume's.
const snapshotsName = "snapshots"

// Subpath is the folder of a snapshot that Subsnapshot has taken, in an image that is mounted on target.
func Subpath(target, name string) string { return filepath.Join(target, snapshotsName, name) }

// Root is the folder of the content of an image that is mounted on target.
func Root(target string) string { return filepath.Join(target, dataName) }
