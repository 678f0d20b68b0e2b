package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/restic"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// Tags of a backup. Others have a value: volume=NAME, capacity=BYTES, filesystem=KIND, root=UID:GID:MODE.
const (
	ourTag       = "plimsoll"
	scheduledTag = "scheduled"
	// emptyTag marks a backup that has a placeholder instead of files.
	emptyTag = "empty"
)

// A BackupOptions is how a backup is made.
type BackupOptions struct {
	// Store names one; "": the profile's.
	Store string
	// Snapshot is the id of the snapshot to store; "": the volume as it is now.
	Snapshot string
	// Scheduled marks it as the schedule's.
	Scheduled bool
}

// A Backup is a backup that was made.
type Backup struct {
	restic.Result
	Store string
	// Note says that the files may have changed while they were read, and why. It may be empty.
	Note string
}

// Backup stores the content of a volume, mounted or not. The volume's hooks run around the moment whose content it is.
func (s *Volumes) Backup(ctx context.Context, name string, o BackupOptions) (b Backup, err error) {
	v, err := s.Get(name)
	if err != nil {
		return b, err
	}
	store, err := s.Store(cmp.Or(o.Store, v.Profile.Service.Backup.Provider))
	if err != nil {
		return b, err
	}
	b.Store = store.Name
	if err := store.Init(ctx); err != nil {
		return b, err
	}
	list, err := store.List(ctx, "volume="+name)
	if err != nil {
		return b, err
	}
	w, err := s.viewBetweenHooks(ctx, v, o.Snapshot)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	b.Note = w.Note
	tags, err := tagsOf(v, w.Root, o)
	if err != nil {
		return b, err
	}
	names, err := os.ReadDir(w.Root)
	if err != nil {
		return b, err
	}
	if len(names) == 0 {
		b.Result, err = store.Empty(ctx, append(tags, emptyTag))
		return b, err
	}
	b.Result, err = store.Backup(ctx, w.Root, parentOf(list), tags)
	return b, err
}

// viewBetweenHooks opens a view; hooks run around one of the volume now.
func (s *Volumes) viewBetweenHooks(ctx context.Context, v Volume, id string) (w *View, err error) {
	if id != "" {
		return s.View(ctx, v.Name, id)
	}
	err = v.Hooks.around(ctx, v.Name, func() error {
		w, err = s.View(ctx, v.Name, "")
		return err
	})
	if err != nil && w != nil { // The hook after has failed.
		err = errors.Join(err, w.Close())
	}
	return w, err
}

// parentOf is the latest backup that this machine has made; "" if there is none.
func parentOf(list []restic.Backup) (id string) {
	host, _ := os.Hostname()
	for _, b := range list {
		if b.Host == host && !slices.Contains(b.Tags, emptyTag) {
			id = b.ID
		}
	}
	return id
}

// tagsOf are the tags of a new backup: all that a restore on another machine needs.
func tagsOf(v Volume, root string, o BackupOptions) ([]string, error) {
	st, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	tags := []string{ourTag, "volume=" + v.Name, "capacity=" + strconv.FormatInt(v.Profile.Capacity, 10), "root=" + ownerText(st)}
	if fs := v.Profile.Filesystem; fs != "" {
		tags = append(tags, "filesystem="+fs)
	}
	if o.Snapshot != "" {
		tags = append(tags, "snapshot="+o.Snapshot)
	}
	if o.Scheduled {
		tags = append(tags, scheduledTag)
	}
	return tags, nil
}

// Backups lists the backups in a store, the oldest first: of one volume, or with an empty name of all.
func (s *Volumes) Backups(ctx context.Context, store, name string) ([]restic.Backup, error) {
	where, err := s.Store(store)
	if err != nil {
		return nil, err
	}
	tag := ourTag
	if name != "" {
		tag = "volume=" + name
	}
	return where.List(ctx, tag)
}

// backupNamed returns a backup by its id.
func (s *Volumes) backupNamed(ctx context.Context, store Store, id string) (restic.Backup, error) {
	list, err := store.List(ctx, ourTag)
	if err != nil {
		return restic.Backup{}, err
	}
	var ids []string
	for _, b := range list {
		if b.ID == id {
			return b, nil
		}
		ids = append(ids, b.ID)
	}
	return restic.Backup{}, usage.Errorf("there is no backup %s in the store %s%s", strict.Short(id), store.Name, strict.DidYouMean(id, ids))
}

// RestoreBackup makes a new volume from a backup. Its profile is that of the volume that was stored, if there still is one, changed by the options.
func (s *Volumes) RestoreBackup(ctx context.Context, store, id, to string, options map[string]string) (v Volume, err error) {
	where, err := s.Store(store)
	if err != nil {
		return v, err
	}
	b, err := s.backupNamed(ctx, where, id)
	if err != nil {
		return v, err
	}
	p, err := s.storedProfile(b, options)
	if err != nil {
		return v, err
	}
	return s.CreateWith(ctx, to, Where{Backend: "local"}, p, func(ctx context.Context, root string) error {
		if slices.Contains(b.Tags, emptyTag) {
			return setOwner(root, b.Tag("root"))
		}
		sparse, err := where.Restore(ctx, b.ID, root)
		if err == nil && !sparse {
			err = digHoles(ctx, root)
		}
		if err != nil {
			return err
		}
		return setOwner(root, b.Tag("root"))
	})
}

// storedProfile is the profile of a volume that is restored.
func (s *Volumes) storedProfile(b restic.Backup, options map[string]string) (*profile.Profile, error) {
	if v, err := s.Get(b.Tag("volume")); err == nil && v.Backend == "local" {
		return v.Profile.With(options)
	}
	p, err := s.Profiles.Lookup(profile.Default)
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	if n := b.Tag("capacity"); n != "" && n != "0" {
		tags["capacity"] = n + "B"
	}
	if fs := b.Tag("filesystem"); fs != "" {
		tags["filesystem"] = fs
	}
	if p, err = p.With(tags); err != nil {
		return nil, fmt.Errorf("backup %s: %w", b.ID, err)
	}
	return p.With(options)
}

// RemoveBackup removes a backup, and what no other one needs.
func (s *Volumes) RemoveBackup(ctx context.Context, store, id string) error {
	where, err := s.Store(store)
	if err != nil {
		return err
	}
	b, err := s.backupNamed(ctx, where, id)
	if err != nil {
		return err
	}
	return where.Forget(ctx, b.ID)
}

// CheckBackups verifies a store, and with data all bytes in it.
func (s *Volumes) CheckBackups(ctx context.Context, store string, data bool) error {
	where, err := s.Store(store)
	if err != nil {
		return err
	}
	return where.Check(ctx, data)
}

// backupAsked is what a volume's profile says of backups: nothing if they are optional, and there is no store. A new volume has its first after one interval.
func (s *Volumes) backupAsked(v Volume) (minutes int, last time.Time) {
	if !v.Profile.Service.Backup.Enabled {
		return 0, last
	}
	if slices.Contains(v.Profile.Optional, "service.backup") {
		if _, err := s.Store(v.Profile.Service.Backup.Provider); errors.Is(err, refusal.ErrRefused) {
			return 0, last
		}
	}
	last = v.BackedUp
	if last.IsZero() {
		last = v.Created
	}
	return v.Profile.Service.Backup.Minutes, last
}

// scheduledBackup makes a backup, and removes the oldest scheduled ones beyond the profile's number.
func (s *Volumes) scheduledBackup(ctx context.Context, v Volume) (string, error) {
	began := time.Now().UTC()
	b, err := s.Backup(ctx, v.Name, BackupOptions{Scheduled: true})
	if err != nil {
		return "", fmt.Errorf("volume %s: %w", v.Name, err)
	}
	err = s.existing(ctx, v.Name, func(v Volume) error {
		v.BackedUp = began
		return s.keep(ctx, v)
	})
	said := fmt.Sprintf("volume %s: backup %s is in the store %s", v.Name, b.ID, b.Store)
	if b.Note != "" {
		said += "; " + b.Note
	}
	return said, errors.Join(err, s.rotateBackups(ctx, v, b.Store))
}

// rotateBackups removes the oldest scheduled backups of a volume, made by this machine, beyond its profile's number.
func (s *Volumes) rotateBackups(ctx context.Context, v Volume, store string) error {
	list, err := s.Backups(ctx, store, v.Name)
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	var ids []string
	for _, b := range list {
		if b.Host == host && slices.Contains(b.Tags, scheduledTag) {
			ids = append(ids, b.ID)
		}
	}
	over := len(ids) - max(1, v.Profile.Service.Backup.Max)
	if over <= 0 {
		return nil
	}
	where, err := s.Store(store)
	if err != nil {
		return err
	}
	return where.Forget(ctx, ids[:over]...)
}
