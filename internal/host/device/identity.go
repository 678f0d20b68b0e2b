package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/host/procfs"
)

// Identity returns Device.Identity of the block device that has this number now. The error wraps fs.ErrNotExist if no device has it.
func (f FS) Identity(number Number) (string, error) {
	numbers := filepath.Join(f.Sys, "dev", "block")
	// Without sysfs nothing is known.
	if _, err := os.Stat(numbers); err != nil {
		return "", nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(numbers, number.String()))
	if err != nil {
		return "", fmt.Errorf("block device %s: %w", number, err)
	}
	return identity(dir, f.Proc), nil
}

// identity identifies the device whose folder in sysfs is dir, whatever its name, so that it can be recognized later. It is the
// device's worldwide number, its serial number, the UUID of its contents, or the file of a loop device. A device that has none of
// these is identified for this boot only, by the number that the kernel gives to the medium in a drive (diskseq, since Linux 5.15).
// "": it can't be identified.
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
