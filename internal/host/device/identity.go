package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/host/procfs"
)

// Identity says which block device has a number now, as Device.Identity does. The error wraps fs.ErrNotExist where no device has it.
func (f FS) Identity(number Number) (string, error) {
	numbers := filepath.Join(f.Sys, "dev", "block")
	// Where sysfs can't be seen, nothing is known.
	if _, err := os.Stat(numbers); err != nil {
		return "", nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(numbers, number.String()))
	if err != nil {
		return "", fmt.Errorf("block device %s: %w", number, err)
	}
	return identity(dir, f.Proc), nil
}

// identity says which device it is that has the folder dir in sysfs, in words that are the same whenever it is found again, under
// whatever name: its number in the world, its serial number, the UUID of what it is made of, or the file of a loop device.
// A device that has none of these is known until the next boot, by the number that the kernel gives
// what is in a drive (diskseq, since Linux 5.15). "": it can't be told.
func identity(dir, proc string) string {
	for _, of := range []struct{ what, file string }{
		{"wwid", "wwid"}, {"wwid", "device/wwid"}, {"serial", "serial"}, {"serial", "device/serial"}, {"dm", "dm/uuid"}, {"md", "md/uuid"},
	} {
		if id := strings.Join(strings.Fields(Text(dir, of.file)), " "); id != "" {
			return of.what + " " + id
		}
	}
	if file := Text(dir, "loop/backing_file"); file != "" {
		if id := fileIdentity(file); id != "" {
			return "file " + id
		}
	}
	boot, seq := procfs.Boot(proc), Text(dir, "diskseq")
	if boot == "" || seq == "" {
		return ""
	}
	return "boot " + boot + " diskseq " + seq
}
