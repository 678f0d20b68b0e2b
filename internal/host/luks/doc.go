// Package luks encrypts loop devices with LUKS2 and dm-crypt, by cryptsetup.
//
// The header has the first 16 MiB of the device, and the data the rest. An open device is one of the device mapper on top of the loop
// device. It is marked to be removed with its last user (deferred removal), as the kernel detaches the loop device. So neither outlives
// a process that is killed, but for a kill between the making of the device and its mark: Find and Sweep mark it then.
//
// The mistake easily made is to have cryptsetup lock a regular file: it uses flock(2), and waits for ever for a caller that has the
// lock. So its locks are off, and the caller must be alone with the file.
//
// The format of the header is the LUKS2 On-Disk Format Specification 1.1, that of the ioctl <linux/dm-ioctl.h>.
package luks

import "errors"

// HeaderSize is what Format takes of a device, in bytes: cryptsetup's default, with room for 32 keys.
const HeaderSize = 16 << 20

// ErrKey says that a key opens nothing.
var ErrKey = errors.New("it is not the key of this device")
