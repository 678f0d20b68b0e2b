package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/image"
)

// rates are the limits of a profile at a device. The kernel has separate ones for reads and for writes, and for each control group, and
// a profile's max is for all together. So each gets all of it, and the guard of a Server lowers them while their sum is more.
func rates(p profile.Profile) limit.Limits {
	return limit.Limits{ReadIOPS: p.IOPS.Max, WriteIOPS: p.IOPS.Max, ReadBPS: p.Bandwidth.Max, WriteBPS: p.Bandwidth.Max}
}

// owner is the volume as the owner of its device's limits.
func (v Volume) owner() hold.Volume { return hold.Volume{Name: v.Name, Folder: v.Folder} }

// devices are the limits of this machine's devices.
func (s *Volumes) devices() (*hold.DeviceLimits, error) {
	return hold.DevicesOf(device.Host(), s.Records)
}

// onDevice calls f with the device of a volume, which stays attached meanwhile. It does nothing if the volume has none.
func onDevice(v Volume, f func(explain.Spot) error) error {
	if v.Backend != "local" {
		return nil
	}
	d, n, err := image.Device(v.image())
	if d == nil || err != nil {
		return err
	}
	defer d.Close()
	return f(explain.Spot{Name: filepath.Base(d.Name()), Number: n})
}

// limit gives the device of a mounted volume the limits of its profile. note says what they don't hold. The caller has the volume's lock: another
// process must not unmount it meanwhile.
func (s *Volumes) limit(ctx context.Context, v Volume) (note string, err error) {
	limits, err := s.devices()
	if err != nil {
		return "", err
	}
	err = onDevice(v, func(d explain.Spot) error {
		want := rates(v.Profile)
		groups, err := limits.SetVolume(ctx, v.owner(), d, want)
		if err == nil && groups == 0 && !want.IsZero() {
			note = "its limits wait for a control group with the io controller, which engines make with their first container"
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("limits of volume %s: %w", v.Name, err)
	}
	return note, err
}

// unmount unmounts a volume, without its limits: the number of its device may go to any other. If it stays mounted, it keeps them.
func (s *Volumes) unmount(ctx context.Context, b backend, v Volume) (err error) {
	if err := s.ending(ctx, v.Name, true); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.ending(context.WithoutCancel(ctx), v.Name, false))
		}
	}()
	if v.Backend == "local" {
		if err := s.unlimit(ctx, v); err != nil {
			return err
		}
	}
	if err = b.unmount(ctx, v); err != nil {
		_, again := s.limit(context.WithoutCancel(ctx), v)
		err = errors.Join(err, again)
	}
	return err
}

// unlimit removes the limits of a volume's device.
func (s *Volumes) unlimit(ctx context.Context, v Volume) error {
	limits, err := s.devices()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil // There are no groups, and no limits.
	}
	if err == nil {
		err = limits.ClearVolume(ctx, v.owner())
	}
	if err != nil {
		return fmt.Errorf("limits of volume %s: %w", v.Name, err)
	}
	return nil
}

// patience is how long the upkeep of limits waits for another call for a volume: it comes again soon.
const patience = 100 * time.Millisecond

// HoldLimits gives the mounted volumes the limits that they lack: of one that a killed process has mounted, of a group that is new, or where another
// program has changed them. And it removes those of devices that are gone. Those that skip names are left as they are; nil: none.
// It says what it did.
func (s *Volumes) HoldLimits(ctx context.Context, skip func(name string) bool) (done []string, err error) {
	limits, err := s.devices()
	if err != nil {
		return nil, err
	}
	done, err = limits.SweepVolumes(ctx)
	mounted, bad := s.mounted()
	err = errors.Join(err, bad)
	if len(mounted) == 0 {
		return done, err
	}
	now, bad := limits.Glance()
	if bad != nil {
		return done, errors.Join(err, bad)
	}
	for _, v := range mounted {
		if skip != nil && skip(v.Name) {
			continue
		}
		kept := true
		bad := onDevice(v, func(d explain.Spot) (err error) {
			kept, err = now.Kept(v.owner(), d, rates(v.Profile))
			return err
		})
		if err = errors.Join(err, bad); kept || bad != nil {
			continue
		}
		bad = s.soon(ctx, v.Name, func(ctx context.Context, v Volume) error {
			done = append(done, "volume "+v.Name+": its limits are set again")
			return s.limitNoted(ctx, v)
		})
		err = errors.Join(err, bad)
	}
	return done, err
}

// soon calls f for a volume, unless another call works on it: it comes again.
func (s *Volumes) soon(ctx context.Context, name string, f func(context.Context, Volume) error) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := false
	err := s.alone(waiting, name, func(v Volume) error {
		began = true
		if v.Name == "" {
			return nil
		}
		return f(ctx, v)
	})
	if !began && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// mounted are the volumes with users in disk images: those that may have a device.
func (s *Volumes) mounted() (list []Volume, err error) {
	entries, err := s.journal.Entries(useKind)
	for _, e := range entries {
		v, bad := s.Get(e.ID)
		switch {
		case errors.Is(bad, os.ErrNotExist):
		case bad != nil:
			err = errors.Join(err, bad)
		case v.Backend == "local":
			list = append(list, v)
		}
	}
	return list, err
}
