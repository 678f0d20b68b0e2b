package change

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/state/journal"
)

// Clear removes limits of a target.
func (m *Maker) Clear(ctx context.Context, ref target.Ref, where Options) (*Result, error) {
	// The limits of all devices are removed, unless devices are named. For a volume, they are those of its device.
	named := where.Volume != "" || where.Path != "" || where.Device != "" || ref.Kind == target.Volume
	keys := where.Only
	if named && len(keys) == 0 {
		for _, k := range limit.Keys {
			if k.IO() {
				keys = append(keys, k)
			}
		}
	}
	at := where.Where
	if !named {
		at.DeviceWide = false // The records say which devices; the root group has others' limits too.
	}
	s, err := m.Scope(ctx, ref, at, named)
	if err != nil {
		// A volume that has gone or is unused may nevertheless have limits in the root group.
		list, unknown := m.DeviceLimits(m.Machine).For(ref)
		if len(list) == 0 {
			return nil, refusedThere(err, limit.Limits{})
		}
		gone := &hold.Scope{Target: target.Target{Kind: ref.Kind, Engine: ref.Engine, Namespace: ref.Namespace, Name: ref.Name}}
		gone.Notes = append(gone.Notes, "nothing else was cleared: "+err.Error())
		return m.clearDeviceLimits(ctx, gone, list, unknown, where)
	}
	apply := m.noting(m.disabling(m.Apply))
	if where.Dry {
		apply = m.Plan
	}
	return m.change(ctx, m.withDeviceLimits(apply, where.Dry), s, limit.Clear(keys...), where)
}

// ClearAllDeviceLimits removes the limits that Plimsoll has set in the root group for any target.
func (m *Maker) ClearAllDeviceLimits(ctx context.Context, where Options) (*Result, error) {
	list, err := m.DeviceLimits(m.Machine).List()
	if err != nil && !errors.As(err, new(*journal.DamagedError)) {
		return nil, err
	}
	return m.clearDeviceLimits(ctx, &hold.Scope{}, list, err, where)
}

// clearDeviceLimits removes limits that were set in the root group, or only those of --device if it is given. unknown is
// the error of the records that can't be read.
func (m *Maker) clearDeviceLimits(ctx context.Context, s *hold.Scope, list []hold.DeviceLimit, unknown error, where Options) (*Result, error) {
	if where.Device != "" {
		var number device.Number
		bad := hold.BlockDevice(where.Device)
		if bad == nil {
			if stack, err := m.FS.Of(where.Device); err == nil && stack.Device != nil { // A partition's is that of its disk.
				number = stack.Device.Number
			}
		}
		// A record may name a device that has gone.
		node := filepath.Clean(where.Device)
		list = slices.DeleteFunc(list, func(w hold.DeviceLimit) bool { return w.Device != number && node != device.NodePath(w.Disk) })
		if bad != nil && len(list) == 0 {
			return nil, bad
		}
		if damaged, _ := journal.Damaged(unknown); !slices.ContainsFunc(damaged, func(d *journal.DamagedError) bool { return d.ID == number.String() }) {
			unknown = nil
		}
	}
	list = slices.DeleteFunc(list, func(w hold.DeviceLimit) bool { return len(where.Only) > 0 && w.Only(where.Only).IsZero() })
	if len(list) == 0 && unknown == nil {
		s.Notes = append(s.Notes, "no limit is recorded as set in the root group; plimsoll limit show --device-wide lists those that are")
	}
	// A daemon may have started since the list was made.
	done, err := m.DeviceLimits(m.Machine).Clear(ctx, list, where.Only, where.Dry, func(w hold.DeviceLimit) bool {
		runs := w.Daemon != "" && keeper.Runs(w.Daemon)
		if runs {
			s.Notes = append(s.Notes, fmt.Sprintf("%s stays in the root group: it is for %s, which runs and would restore it; change its policy instead", w, w.For))
		}
		return runs
	})
	if err != nil {
		return nil, err
	}
	r := m.result(s, limit.Clear(where.Only...), done, where)
	if unknown != nil {
		r.unknown = fmt.Errorf("other limits in the root group are not known, and left: %w", unknown)
	}
	return r, nil
}

// withDeviceLimits makes a change together with the limits in the root group that were set for its target.
func (m *Maker) withDeviceLimits(apply applier, dry bool) applier {
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		return m.DeviceLimits(m.Machine).Change(ctx, s, change, dry, func() ([]hold.Done, error) { return apply(ctx, s, change) })
	}
}
