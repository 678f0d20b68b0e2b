package profile

import (
	"errors"
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
	// Below is the kind of a folder's file system, such as "ext4", and SSD, HDD or "" for the kind of its disk.
	Below(folder string) (filesystem, disk string, err error)
}

// Host is the Machine that this program runs on.
type Host struct{}

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
