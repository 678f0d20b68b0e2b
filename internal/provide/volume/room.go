package volume

import (
	"context"
	"path/filepath"

	"plimsoll/internal/host/device"
	"plimsoll/internal/provide/profile"
)

// A machine knows what the volumes on each disk are promised.
type machine struct {
	profile.Machine
	volumes *Volumes
	// except is a volume that doesn't count; it may be "".
	except string
}

// Room implements profile.Machine.
func (m machine) Room(folder string) (r profile.Room, err error) {
	if r, err = m.Machine.Room(folder); err != nil || r.Disk == "" {
		return r, err
	}
	r.Promised, err = m.volumes.promised(r.Number, m.except)
	return r, err
}

// promised is the sum of the guarantees of the volumes on a disk, including those that are being made.
func (s *Volumes) promised(disk device.Number, except string) (sum int64, err error) {
	all, err := s.all()
	disks := map[string]device.Number{}
	for _, v := range all {
		if v.Profile.IOPS.Min == 0 || v.Backend != "local" || v.Phase == Removing || v.Name == except {
			continue
		}
		dir := filepath.Dir(v.Folder)
		n, known := disks[dir]
		if !known {
			below, err := device.Host().Of(dir)
			if err != nil {
				return 0, err
			}
			if below.Device != nil {
				n = below.Device.Number
			}
			disks[dir] = n
		}
		if n == disk {
			sum += v.Profile.IOPS.Min
		}
	}
	return sum, err
}

// Room is what the disk of a volume can guarantee, with what all of its volumes are promised, this one included.
func (s *Volumes) Room(v Volume) (profile.Room, error) {
	return machine{s.Machine, s, ""}.Room(filepath.Dir(v.Folder))
}

// CheckVolume is Check for a volume that exists: what it is promised already doesn't count twice.
func (s *Volumes) CheckVolume(v Volume) (profile.Report, error) {
	b, err := profile.BackendNamed(v.Backend)
	if err != nil {
		return profile.Report{}, err
	}
	return profile.Check(&v.Profile, b, machine{s.Machine, s, v.Name}, s.Folder()), nil
}

// admitted calls f, which checks a volume and records it. If it has a guarantee, or is to get a project, no other process does so meanwhile: two
// guarantees may fit each by itself, and two volumes would choose one project.
func (s *Volumes) admitted(ctx context.Context, v Volume, f func() error) error {
	if v.Profile.IOPS.Min == 0 && !s.counts(v) {
		return f()
	}
	return s.journal.Alone(ctx, Kind, f)
}
