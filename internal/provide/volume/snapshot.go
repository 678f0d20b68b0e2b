package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// A Snapshot is the state of a volume at one time. It is recorded in the volume's entry, before it is taken, and removed with the volume.
type Snapshot struct {
	// ID is made of the time, in UTC: 20260131-235900.
	ID          string    `json:"id"`
	Description string    `json:"description,omitempty"`
	Taken       time.Time `json:"taken"`
	Phase       Phase     `json:"phase"`
	// Scheduled is set if the volume's profile asked for it. Only those are rotated.
	Scheduled bool `json:"scheduled,omitempty"`
	// Capacity is the volume's at that time, in bytes.
	Capacity int64 `json:"capacity"`
	// Subvolume says that it is one of the volume's own btrfs; else it is a disk image.
	Subvolume bool `json:"subvolume,omitempty"`
	// Peer is the machine to which replication has sent it, or Received.
	Peer string `json:"peer,omitempty"`
}

// Received is the Peer of a snapshot that came from another machine.
const Received = "received"

// A SnapshotOptions is how a snapshot is taken.
type SnapshotOptions struct {
	Description string
	// Scheduled marks it as the schedule's.
	Scheduled bool
	// Peer is as in Snapshot.
	Peer string
	// Copy copies all of the data if the disk below can't share it.
	Copy bool
	// Hooks run instead of the volume's, if any is set.
	Hooks Hooks
}

// A snapshotter takes snapshots of a backend's volumes, and makes volumes from them. Each call has the volume's lock.
type snapshotter interface {
	// take takes a snapshot of a volume, mounted or not. It can be undone by discard at any time.
	take(ctx context.Context, v Volume, p Snapshot, o image.SnapshotOptions) error
	// discard removes a snapshot; one that is missing is no error.
	discard(ctx context.Context, v Volume, p Snapshot) error
	// restore gives the volume, which isn't mounted, the data of a snapshot, whole or not at all.
	restore(ctx context.Context, v Volume, p Snapshot) error
	// clone makes the data of a new volume from a snapshot.
	clone(ctx context.Context, v Volume, p Snapshot, to Volume, o image.SnapshotOptions) error
	// send writes what a snapshot has and the snapshot base hasn't; nil: all that it has.
	send(ctx context.Context, v Volume, p Snapshot, base *Snapshot, to io.Writer) error
	// receive makes a snapshot of what send has written. It can be undone by discard at any time.
	receive(ctx context.Context, v Volume, p Snapshot, base *Snapshot, from io.Reader) error
	// subvolume says whether a new snapshot of the volume is a subvolume.
	subvolume(v Volume) bool
}

// snapshotsOf returns the snapshotter of a volume; the error is a refusal if its backend has none.
func snapshotsOf(v Volume) (snapshotter, error) {
	b, err := of(v)
	if err != nil {
		return nil, err
	}
	if s := b.snapshots(); s != nil {
		return s, nil
	}
	return nil, &refusal.Error{What: "a snapshot of volume " + v.Name, Why: "a folder can't be frozen to copy it", Fix: "make the volume with the backend local, or use plimsoll volume export"}
}

// Snapshot takes a snapshot of a volume, mounted or not. Programs' writes wait meanwhile. Hooks run without the volume's lock: they may use it.
func (s *Volumes) Snapshot(ctx context.Context, name string, o SnapshotOptions) (p Snapshot, err error) {
	v, err := s.Get(name)
	if err != nil {
		return p, err
	}
	hooks := v.Hooks
	if o.Hooks != (Hooks{}) {
		hooks = o.Hooks
	}
	err = hooks.around(ctx, name, func() error {
		return s.existing(ctx, name, func(v Volume) error {
			p, err = s.take(ctx, &v, o)
			return err
		})
	})
	return p, err
}

// take takes a snapshot. The caller has the volume's lock, and v changes.
func (s *Volumes) take(ctx context.Context, v *Volume, o SnapshotOptions) (Snapshot, error) {
	way, err := snapshotsOf(*v)
	if err != nil {
		return Snapshot{}, err
	}
	p := Snapshot{ID: newID(time.Now(), v.Snapshots), Description: o.Description, Taken: time.Now().UTC(), Phase: Making, Scheduled: o.Scheduled, Peer: o.Peer, Capacity: v.Profile.Capacity, Subvolume: way.subvolume(*v)}
	return p, s.addSnapshot(ctx, v, p, func(ctx context.Context) error { return way.take(ctx, *v, p, image.SnapshotOptions{Copy: o.Copy}) })
}

// addSnapshot records a snapshot, and then make makes it. The caller has the volume's lock, and v changes.
func (s *Volumes) addSnapshot(ctx context.Context, v *Volume, p Snapshot, make func(context.Context) error) error {
	v.Snapshots = append(slices.Clone(v.Snapshots), p)
	if err := s.keep(ctx, *v); err != nil {
		return err
	}
	err := make(ctx)
	if err == nil {
		done := *v
		done.Snapshots = slices.Clone(v.Snapshots)
		done.Snapshots[len(done.Snapshots)-1].Phase = Ready
		if err = s.keep(context.WithoutCancel(ctx), done); err == nil {
			*v = done
			return nil
		}
	}
	return errors.Join(err, s.dropSnapshot(context.WithoutCancel(ctx), v, p))
}

// newID returns an id that no other snapshot of the volume has. Its clock may jump backwards.
func newID(at time.Time, others []Snapshot) string {
	base := at.UTC().Format("20060102-150405")
	id := base
	for n := 2; slices.ContainsFunc(others, func(p Snapshot) bool { return p.ID == id }); n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	return id
}

// dropSnapshot removes a snapshot's data, then its record. The caller has the volume's lock, and v changes.
func (s *Volumes) dropSnapshot(ctx context.Context, v *Volume, p Snapshot) error {
	way, err := snapshotsOf(*v)
	if err != nil {
		return err
	}
	if err := way.discard(ctx, *v, p); err != nil {
		return err
	}
	left := *v
	left.Snapshots = slices.DeleteFunc(slices.Clone(v.Snapshots), func(q Snapshot) bool { return q.ID == p.ID })
	if err := s.keep(ctx, left); err != nil {
		return err
	}
	*v = left
	return nil
}

// finishSnapshots removes the snapshots that a killed process was taking or removing. The caller has the volume's lock, and v changes.
func (s *Volumes) finishSnapshots(ctx context.Context, v *Volume) error {
	for _, p := range v.Snapshots {
		if p.Phase == Ready {
			continue
		}
		if err := s.dropSnapshot(ctx, v, p); err != nil {
			return fmt.Errorf("snapshot %s, which a killed process was %s: %w", p.ID, p.Phase, err)
		}
	}
	return nil
}

// SnapshotNamed returns a snapshot of a volume.
func (v Volume) SnapshotNamed(id string) (Snapshot, error) {
	var ids []string
	for _, p := range v.Snapshots {
		if p.ID == id && p.Phase == Ready {
			return p, nil
		}
		ids = append(ids, p.ID)
	}
	return Snapshot{}, usage.Errorf("there is no snapshot %s%s", strict.Short(id), strict.DidYouMean(id, ids))
}

// RemoveSnapshot removes a snapshot of a volume.
func (s *Volumes) RemoveSnapshot(ctx context.Context, name, id string) error {
	return s.existing(ctx, name, func(v Volume) error {
		p, err := v.SnapshotNamed(id)
		if err != nil {
			return err
		}
		return s.removeSnapshot(ctx, &v, p)
	})
}

// removeSnapshot removes a snapshot, so that a killed removal is finished later. The caller has the volume's lock, and v changes.
func (s *Volumes) removeSnapshot(ctx context.Context, v *Volume, p Snapshot) error {
	v.Snapshots = slices.Clone(v.Snapshots)
	for i := range v.Snapshots {
		if v.Snapshots[i].ID == p.ID {
			v.Snapshots[i].Phase = Removing
		}
	}
	if err := s.keep(ctx, *v); err != nil {
		return err
	}
	return s.dropSnapshot(context.WithoutCancel(ctx), v, p)
}

// RestoreSnapshot gives a volume the data of one of its snapshots. The volume must not be mounted. The state before is kept as the snapshot before, unless discard
// is set.
func (s *Volumes) RestoreSnapshot(ctx context.Context, name, id string, discard bool) (before Snapshot, err error) {
	err = s.existing(ctx, name, func(v Volume) error {
		p, err := v.SnapshotNamed(id)
		if err != nil {
			return err
		}
		way, err := snapshotsOf(v)
		if err != nil {
			return err
		}
		if err := s.idle(ctx, v); err != nil {
			return err
		}
		if !discard {
			before, err = s.take(ctx, &v, SnapshotOptions{Description: "before the restore of " + id, Copy: true})
			if err != nil {
				return fmt.Errorf("keep the state before as a snapshot (--discard goes without): %w", err)
			}
		}
		return way.restore(ctx, v, p)
	})
	return before, err
}

// idle unmounts a volume that nobody uses, and otherwise says who does.
func (s *Volumes) idle(ctx context.Context, v Volume) error {
	if err := s.unused(v); err != nil {
		return err
	}
	b, err := of(v)
	if err != nil {
		return err
	}
	return s.unmount(ctx, b, v)
}

// CloneSnapshot makes a new volume from a snapshot, with the same profile.
func (s *Volumes) CloneSnapshot(ctx context.Context, name, id, to string, o image.SnapshotOptions) (made Volume, err error) {
	err = s.existing(ctx, name, func(v Volume) error {
		p, err := v.SnapshotNamed(id)
		if err != nil {
			return err
		}
		way, err := snapshotsOf(v)
		if err != nil {
			return err
		}
		if to == name {
			return usage.Errorf("a clone needs a name of its own")
		}
		like := v.carried()
		made, err = s.createBy(ctx, to, v.Where, &like, func(ctx context.Context, w Volume) error {
			return way.clone(ctx, v, p, w, o)
		})
		return err
	})
	return made, err
}

// SnapshotSize returns what the removal of a snapshot would free, in bytes, and whether that is known.
func (s *Volumes) SnapshotSize(v Volume, p Snapshot) (n int64, known bool) {
	if p.Subvolume {
		return 0, false
	}
	n, err := image.Own(v.snapshot(p.ID))
	return n, err == nil
}
