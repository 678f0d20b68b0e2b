package hold

import (
	"plimsoll/internal/host/device"
)

// A Medium says which device had a number when something was noted of it. The kernel gives numbers of loop devices, of the device
// mapper and of disks that are pulled out to the next one.
type Medium struct {
	// Identity is that of device.Device, which is the same whenever the device comes back. A loop device loses it when its file gets
	// another name.
	Identity string `json:"identity,omitempty"`
	// Seq is the kernel's count of what was in the device (diskseq, since Linux 5.15), which is another when it has come back.
	Seq string `json:"diskseq,omitempty"`
}

// mediumOf is that of the device that has a number now. The error wraps fs.ErrNotExist where there is none.
func mediumOf(f device.FS, n device.Number) (Medium, error) {
	d, err := f.Disk(n)
	if err != nil {
		return Medium{}, err
	}
	return Medium{d.Identity, device.Text(f.Sys, "dev", "block", n.String(), "diskseq")}, nil
}

// is reports whether two are the same device, by either of what is known of both. Nothing being known, the number counts, as in
// notes of older versions.
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
