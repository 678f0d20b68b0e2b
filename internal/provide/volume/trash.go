package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/text/usage"
)

// trashName is the folder of removed volumes, beside the volumes. No volume's name begins with a dot.
const trashName = ".removed"

// removed is the entry of the trash for a volume whose removal has begun.
func (s *Volumes) removed(v Volume) Removed {
	r := Removed{Volume: v, ID: v.Name + "@" + v.Removed.UTC().Format("20060102T150405.000"), At: v.Removed, Until: v.Removed.Add(s.Keep)}
	r.Trash = filepath.Join(filepath.Dir(v.Folder), trashName, r.ID)
	return r
}

// discard moves an unmounted volume to the trash and forgets it. It can be repeated.
func (s *Volumes) discard(ctx context.Context, v Volume) error {
	r := s.removed(v)
	if err := os.MkdirAll(filepath.Dir(r.Trash), 0o700); err != nil {
		return err
	}
	if err := s.keepRemoved(ctx, r); err != nil {
		return err
	}
	err := os.Rename(v.Folder, r.Trash)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = os.Lstat(r.Trash); errors.Is(err, fs.ErrNotExist) { // Else an earlier try has moved it.
			err = s.journal.Discard(ctx, removedKind, r.ID) // The user has removed it.
		}
	}
	if err != nil {
		return err
	}
	return s.forget(ctx, v.Name)
}

// keepRemoved records an entry of the trash so that a power cut doesn't take it.
func (s *Volumes) keepRemoved(ctx context.Context, r Removed) error {
	if err := s.journal.Keep(ctx, removedKind, r.ID, r); err != nil {
		return err
	}
	return s.journal.Sync(removedKind, r.ID)
}

// delete removes an unmounted volume with its data. It can be repeated.
func (s *Volumes) delete(ctx context.Context, v Volume) error {
	if err := deleteData(v, v.Folder); err != nil {
		return err
	}
	return s.forget(ctx, v.Name)
}

// forget removes the records of a volume.
func (s *Volumes) forget(ctx context.Context, name string) error {
	if err := s.journal.Discard(ctx, useKind, name); err != nil {
		return err
	}
	return s.journal.Discard(ctx, Kind, name)
}

// Trash lists the removed volumes whose data is still there, the latest first.
func (s *Volumes) Trash() ([]Removed, error) {
	entries, err := s.journal.Entries(removedKind)
	var list []Removed
	for _, e := range entries {
		r, bad := payload[Removed](e.Payload)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("removed volume %s: its record is damaged: %w", e.ID, bad))
			continue
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Removed) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.ID, b.ID)) })
	return list, err
}

// Empty deletes the data of removed volumes whose time is over, or of all. It returns what it deleted.
func (s *Volumes) Empty(ctx context.Context, all bool) (gone []Removed, err error) {
	list, err := s.Trash()
	for _, r := range list {
		if !all && time.Now().Before(r.Until) && r.Phase != Deleting {
			continue
		}
		deleted := false
		bad := s.alone(ctx, r.Name, func(Volume) error {
			var err error
			deleted, err = s.empty(ctx, r)
			return err
		})
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("delete the data of the removed volume %s: %w", r.ID, bad))
		}
		if deleted {
			gone = append(gone, r)
		}
	}
	return gone, err
}

// empty deletes the data of one removed volume, unless another process has restored it meanwhile.
func (s *Volumes) empty(ctx context.Context, r Removed) (deleted bool, err error) {
	if _, err := s.journal.Get(removedKind, r.ID); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	r.Phase = Deleting
	if err := s.keepRemoved(ctx, r); err != nil {
		return false, err
	}
	if err := deleteData(r.Volume, r.Trash); err != nil {
		return false, err
	}
	return true, s.journal.Discard(ctx, removedKind, r.ID)
}

// Restore brings back the latest removed volume of a name, or the one of that id.
func (s *Volumes) Restore(ctx context.Context, name string) (v Volume, err error) {
	list, err := s.Trash()
	i := slices.IndexFunc(list, func(r Removed) bool { return (r.Name == name || r.ID == name) && r.Phase != Deleting })
	if i < 0 {
		return v, errors.Join(usage.Errorf("no removed volume %s has its data left (see plimsoll volume ls --removed)", name), err)
	}
	r := list[i]
	err = s.alone(ctx, r.Name, func(now Volume) error {
		if now.Name != "" {
			if _, err := s.journal.Get(removedKind, r.ID); errors.Is(err, fs.ErrNotExist) {
				v = now // A killed process had begun it.
				return nil
			}
			return usage.Errorf("there is a volume %s again: remove it first", r.Name)
		}
		if err := r.restorable(); err != nil {
			return err
		}
		v = r.Volume
		v.Phase, v.Removed = Restoring, r.At
		if err := s.keep(ctx, v); err != nil {
			return err
		}
		v, err = s.restore(context.WithoutCancel(ctx), v)
		return err
	})
	return v, err
}

// restorable reports what prevents a restore.
func (r Removed) restorable() error {
	if _, err := os.Lstat(r.Trash); err != nil {
		return fmt.Errorf("the data of the removed volume %s: %w", r.ID, err)
	}
	if _, err := os.Lstat(r.Folder); err == nil {
		return usage.Errorf("the folder %s exists: move it away", r.Folder)
	}
	return nil
}

// restore brings back a volume that is Restoring. It can be repeated.
func (s *Volumes) restore(ctx context.Context, v Volume) (Volume, error) {
	r := s.removed(v)
	if err := os.Rename(r.Trash, v.Folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Volume{}, err
	}
	if err := syncFolder(filepath.Dir(v.Folder)); err != nil {
		return Volume{}, err
	}
	// Before the volume is ready, so that it is never both.
	if err := s.journal.Discard(ctx, removedKind, r.ID); err != nil {
		return Volume{}, err
	}
	v.Phase, v.Removed = Ready, time.Time{}
	return v, s.keep(ctx, v)
}

// deleteData deletes a volume's folder, which may be in the trash. What is mounted in it stays: on a server it may be another machine's data.
func deleteData(v Volume, folder string) error {
	mount := filepath.Join(folder, filepath.Base(v.target()))
	if at, err := mountedAt(mount); err != nil {
		return err
	} else if at != "" {
		return fmt.Errorf("something is mounted on %s: unmount it first", mount)
	}
	return errors.Join(release(v, folder), os.RemoveAll(folder))
}

// release gives back what the kernel has for a volume beside its folder.
func release(v Volume, folder string) error {
	b, err := of(v)
	if err != nil {
		return err
	}
	return b.release(v, folder)
}
