package hold

import (
	"plimsoll/internal/host/device"
)

// A Medium identifies the device that had a number when something was recorded about it. The kernel reuses the numbers
// of loop devices, of the device mapper and of disks that are pulled out.
type Medium struct {
	// Identity is the identity of device.Device, which is the same whenever the device comes back. A loop device loses
	// it when its file is renamed.
	Identity string `json:"identity,omitempty"`
	// Seq is the kernel's sequence number of the medium in the device (diskseq, since Linux 5.15), which changes when
	// it comes back.
	Seq string `json:"diskseq,omitempty"`
}

// mediumOf returns the medium of the device that has a number now. The error wraps fs.ErrNotExist if there is none.
func mediumOf(f device.FS, n device.Number) (Medium, error) {
	d, err := f.Disk(n)
	if err != nil {
		return Medium{}, err
	}
	return Medium{d.Identity, device.Text(f.Sys, "dev", "block", n.String(), "diskseq")}, nil
}

// is reports whether two are the same device, by either value that both have. If they have none in common, the number
// decides: before Linux 5.15, nothing more is known of a disk without a serial number.
func (m Medium) is(o Medium) bool {
	known := false
	for _, x := range [][2]string{{m.Identity, o.Identity}, {m.Seq, o.Seq}} {
		if x[0] != "" && x[0] == x[1] {
			return true
		}
		known = known || x[0] != "" && x[1] != ""
	}
	return !known
}
