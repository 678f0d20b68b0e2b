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

	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// trashName is the folder of removed volumes, beside the volumes. No volume's name begins with a dot.
const trashName = ".removed"

// Remove removes a volume that nobody uses. Its data stays for the time of Keep, unless now is set.
func (s *Volumes) Remove(ctx context.Context, name string, now bool) error {
	err := s.existing(ctx, name, func(v Volume) error {
		if err := s.idle(ctx, v); err != nil {
			return err
		}
		if err := s.closeView(ctx, v); err != nil {
			return err
		}
		v.Phase = Removing
		if err := s.keep(ctx, v); err != nil {
			return err
		}
		return s.remove(context.WithoutCancel(ctx), v, now)
	})
	if err == nil {
		_, err = s.Empty(ctx, false)
	}
	return err
}

// inUse is the error of a volume with users.
func inUse(users []Use) error {
	if len(users) == 0 {
		return nil
	}
	if users[0].ID == ByHand && len(users) == 1 {
		return usage.Errorf("it is mounted by hand: plimsoll volume unmount")
	}
	return usage.Errorf("it is mounted by %s, the oldest since %s: remove the containers that use it (docker ps -a --filter volume=NAME)", size.Plural(len(users), "container"), users[0].Since.Local().Format("2006-01-02 15:04"))
}

// remove moves an unmounted volume to the trash and forgets it. It can be repeated.
func (s *Volumes) remove(ctx context.Context, v Volume, now bool) error {
	if now || s.Keep <= 0 {
		if err := os.RemoveAll(v.Folder); err != nil {
			return err
		}
		return s.journal.Discard(ctx, Kind, v.Name)
	}
	at := time.Now().UTC()
	r := Removed{Volume: v, ID: v.Name + "@" + at.Format("20060102T150405.000"), At: at, Until: at.Add(s.Keep)}
	r.Trash = filepath.Join(filepath.Dir(v.Folder), trashName, r.ID)
	if err := os.MkdirAll(filepath.Dir(r.Trash), 0o700); err != nil {
		return err
	}
	if err := s.journal.Keep(ctx, removedKind, r.ID, r); err != nil {
		return err
	}
	if err := s.journal.Sync(removedKind, r.ID); err != nil {
		return err
	}
	err := os.Rename(v.Folder, r.Trash)
	if errors.Is(err, fs.ErrNotExist) {
		// An earlier try has moved it, or the user has removed it.
		err = s.journal.Discard(ctx, removedKind, r.ID)
	}
	if err != nil {
		return err
	}
	return s.journal.Discard(ctx, Kind, v.Name)
}

// Trash lists the removed volumes whose data is still there, the latest first.
func (s *Volumes) Trash() ([]Removed, error) {
	entries, err := s.journal.Entries(removedKind)
	var list []Removed
	for _, e := range entries {
		r, bad := payload[Removed](e.Payload)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("removed volume %s: %w", e.ID, bad))
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
		if !all && time.Now().Before(r.Until) {
			continue
		}
		bad := s.journal.AloneWith(ctx, Kind, r.Name, func() error {
			if err := os.RemoveAll(r.Trash); err != nil {
				return err
			}
			return s.journal.Discard(ctx, removedKind, r.ID)
		})
		if bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		gone = append(gone, r)
	}
	return gone, err
}

// Restore brings back the latest removed volume of a name, or the one of that id.
func (s *Volumes) Restore(ctx context.Context, name string) (v Volume, err error) {
	list, err := s.Trash()
	i := slices.IndexFunc(list, func(r Removed) bool { return r.Name == name || r.ID == name })
	if i < 0 {
		return v, errors.Join(usage.Errorf("no removed volume %s has its data left (see plimsoll volume ls --removed)", name), err)
	}
	r := list[i]
	err = s.alone(ctx, r.Name, func(now Volume) error {
		if now.Name != "" {
			return usage.Errorf("there is a volume %s again: remove it first", r.Name)
		}
		if _, err := os.Lstat(r.Trash); err != nil {
			return err
		}
		if _, err := os.Lstat(r.Folder); err == nil {
			return usage.Errorf("the folder %s exists: move it away", r.Folder)
		}
		// A kill after the renaming leaves a volume that is ready, and an entry of the trash without a folder.
		if err := os.Rename(r.Trash, r.Folder); err != nil {
			return err
		}
		v = r.Volume
		v.Phase = Ready
		if err := errors.Join(syncFolder(filepath.Dir(r.Folder)), s.keep(ctx, v)); err != nil {
			return errors.Join(err, os.Rename(r.Folder, r.Trash))
		}
		return s.journal.Discard(ctx, removedKind, r.ID)
	})
	return v, err
}
