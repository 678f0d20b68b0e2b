// Package filesystem makes, mounts, checks, grows and freezes the file systems of Plimsoll's own disks: ext4, xfs and btrfs.
//
// A Tree is a mount that is attached to no folder (fsmount(2)). It ends when it is closed, so a killed process leaves nothing. Where
// the device is mounted already, a Tree shows the same file system, so that growing or freezing doesn't depend on whether it is.
//
// The mistake easily made is to mount two file systems with one UUID: xfs refuses it, and btrfs takes the second one for another
// disk of the first. So a copy gets a UUID of its own before it is mounted beside the original.
package filesystem

// A Kind is a file system as mount(8) names it.
type Kind string

// The kinds.
const (
	Ext4  Kind = "ext4"
	XFS   Kind = "xfs"
	Btrfs Kind = "btrfs"
)

// A Space is the space of a file system in bytes. Size is what files and metadata can use, which is less than its device has.
type Space struct{ Size, Used, Free int64 }
