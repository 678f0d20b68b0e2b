package profile

import (
	"errors"
	"fmt"
	"os"

	"plimsoll/internal/host/device"
	"plimsoll/internal/text/refusal"
)

// A Machine answers what depends on the machine, when it is asked. An answer is nil for yes, a *refusal.Error for no, with the reason and what would
// help, and another error if it could not be found out. Folders need not exist: the nearest one above decides.
type Machine interface {
	// Node is the machine's name.
	Node() string
	// Filesystem reports whether a file system can be made and mounted.
	Filesystem(name string) error
	// NFS reports whether an NFS export can be mounted.
	NFS() error
	// Loop reports whether files can be disks.
	Loop() error
	// Encryption reports whether a disk can be encrypted (LUKS, dm-crypt).
	Encryption() error
	// Quota reports whether project quotas are on in a folder's file system.
	Quota(folder string) error
	// Reflinks reports whether files can share their data in a folder's file system.
	Reflinks(folder string) error
	// Limits reports whether a device can be given limits of I/O. The first result is the version of control groups that has them.
	Limits() (version int, err error)
	// Room is what the disk of a folder can guarantee.
	Room(folder string) (Room, error)
	// Below is the kind of a folder's file system, such as "ext4", and SSD, HDD or "" for the kind of its disk.
	Below(folder string) (filesystem, disk string, err error)
}

// A Room is what a disk can guarantee, in I/Os per second.
type Room struct {
	// Disk is its name; "" if the folder is on none that is known.
	Disk   string
	Number device.Number
	// Measured is what it was measured to carry. 0: it was not measured, for the reason Why.
	Measured int64
	Why      string
	// Promised is what the volumes on it are guaranteed already.
	Promised int64
}

// String says how much of a disk is provisioned: "8,400 of 10,500 IOPS are provisioned".
func (r Room) String() string {
	if r.Measured == 0 {
		return thousands(r.Promised) + " IOPS are provisioned; it was not measured"
	}
	return fmt.Sprintf("%s of %s measured IOPS are provisioned", thousands(r.Promised), thousands(r.Measured))
}

// Host is the Machine that this program runs on.
type Host struct {
	// Ceiling returns what a disk was measured to carry, by its name: the smaller of reads and writes per second. Nil: nothing was
	// measured.
	Ceiling func(disk string) (int64, error)
}

var _ Machine = Host{}

// Node implements Machine.
func (Host) Node() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// Filesystem implements Machine.
func (Host) Filesystem(name string) error { return hostFilesystem(name) }

// NFS implements Machine.
func (Host) NFS() error { return hostNFS() }

// Loop implements Machine.
func (Host) Loop() error { return hostLoop() }

// Encryption implements Machine.
func (Host) Encryption() error { return hostEncryption() }

// Quota implements Machine.
func (Host) Quota(folder string) error { return hostQuota(folder) }

// Reflinks implements Machine.
func (Host) Reflinks(folder string) error { return hostReflinks(folder) }

// Limits implements Machine.
func (Host) Limits() (version int, err error) { return hostLimits() }

// Room implements Machine. It knows of no volumes.
func (h Host) Room(folder string) (r Room, err error) {
	s, err := device.Host().Of(folder)
	if err != nil || s.Device == nil {
		return r, err
	}
	r.Disk, r.Number = s.Device.Name, s.Device.Number
	if h.Ceiling != nil {
		if r.Measured, err = h.Ceiling(r.Disk); err != nil {
			r.Why = err.Error()
		}
	}
	return r, nil
}

// Below implements Machine.
func (Host) Below(folder string) (filesystem, disk string, err error) {
	s, err := device.Host().Of(folder)
	if err != nil {
		return "", "", err
	}
	switch {
	case s.Device == nil:
	case s.Device.Rotational:
		disk = HDD
	default:
		disk = SSD
	}
	return s.Mount.FSType, disk, nil
}

// no is the answer of a machine that can't.
func no(what, why, fix string) error { return &refusal.Error{What: what, Why: why, Fix: fix} }

// answered returns the ability that follows from a machine's answer, if that is not yes.
func answered(err error) (a Ability, not bool) {
	var refused *refusal.Error
	switch {
	case err == nil:
		return Ability{}, false
	case errors.As(err, &refused):
		return unsupported(refused.Why, refused.Fix), true
	case errors.Is(err, errors.ErrUnsupported):
		return unsupported("volumes are made on Linux only", ""), true
	}
	return advisory("this could not be asked: " + err.Error()), true
}

// ask returns yes, or what follows from another answer of the machine.
func ask(err error, yes Ability) Ability {
	if a, not := answered(err); not {
		return a
	}
	return yes
}
