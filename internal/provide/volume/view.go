package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/text/refusal"
)

// A View is the content of a volume at one time, to be read while the volume changes. Close must be called once.
type View struct {
	// Root is the folder with the content.
	Root string
	// Note says that the content may change while it is read, and why. It may be empty.
	Note string

	volumes *Volumes
	volume  Volume
	lock    *os.File
}

// viewID names a view's snapshot in a btrfs. No snapshot has such an id.
const viewID = "view"

// view is the folder on which a view is mounted, and viewImage its image.
func (v Volume) view() string      { return filepath.Join(v.Folder, viewID) }
func (v Volume) viewImage() string { return filepath.Join(v.Folder, "view-image") }

// ErrViewed says that a volume has a view.
var ErrViewed = errors.New("a backup, an export or a replication of it is running")

// View opens the content of a snapshot, or with an empty id that of the volume now. A volume has one view at a time. A killed process's is closed by the
// next one.
func (s *Volumes) View(ctx context.Context, name, id string) (w *View, err error) {
	err = s.existing(ctx, name, func(v Volume) error {
		if err := s.closeView(ctx, v); err != nil {
			return err
		}
		lock, err := takeView(v)
		if err != nil {
			return err
		}
		w = &View{volumes: s, volume: v, lock: lock}
		if err := w.open(ctx, v, id); err != nil {
			return errors.Join(err, w.clean(context.WithoutCancel(ctx)), filelock.Remove(lock))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// takeView claims the view of a volume. The error is ErrViewed if another process or call has it.
func takeView(v Volume) (*os.File, error) {
	lock, err := filelock.Take(filepath.Join(v.Folder, ".view"), 0o600)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, ErrViewed
	}
	return lock, err
}

// open makes the content reachable.
func (w *View) open(ctx context.Context, v Volume, id string) error {
	if id != "" {
		p, err := v.SnapshotNamed(id)
		if err != nil {
			return err
		}
		return w.mount(ctx, v, p)
	}
	way, err := snapshotsOf(v)
	if err == nil {
		now := Snapshot{Subvolume: way.subvolume(v)}
		if err = w.mount(ctx, v, now); err == nil {
			return nil
		}
	}
	if !errors.Is(err, refusal.ErrRefused) {
		return err
	}
	w.Note = "the files may change while they are read: " + err.Error()
	return w.live(ctx, v)
}

// mount mounts a snapshot; one without an id stands for the volume now.
func (w *View) mount(ctx context.Context, v Volume, p Snapshot) error {
	if err := os.Mkdir(v.view(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	from := v.image()
	switch {
	case p.Subvolume && p.ID == "":
		p.ID = viewID
		if err := image.Subsnapshot(ctx, from, viewID, keyOf(v)); err != nil {
			return err
		}
	case !p.Subvolume:
		if p.ID != "" {
			from = v.snapshot(p.ID)
		}
		// A clone: a snapshot has the UUID of the volume, which may be mounted, and a journal to be replayed.
		if err := image.Clone(ctx, from, v.viewImage(), image.SnapshotOptions{Key: keyOf(v)}); err != nil {
			return err
		}
		from = v.viewImage()
	}
	m, err := image.Mount(ctx, from, v.view(), image.MountOptions{ReadOnly: true, Key: keyOf(v)})
	if err != nil {
		return err
	}
	w.Root = m.Root
	if p.Subvolume {
		w.Root = image.Subpath(v.view(), p.ID)
	}
	return nil
}

// live shows the volume itself. Another read-only mount of its image doesn't disturb one that there is or will be.
func (w *View) live(ctx context.Context, v Volume) (err error) {
	if v.Backend != "local" {
		w.Root, err = w.volumes.Root(v)
		return err
	}
	m, err := image.Mount(ctx, v.image(), v.view(), image.MountOptions{ReadOnly: true, Key: keyOf(v)})
	w.Root = m.Root
	return err
}

// Close ends the view.
func (w *View) Close() error {
	ctx := context.Background() // What a view leaves must go in any case.
	return errors.Join(w.clean(ctx), filelock.Remove(w.lock))
}

// clean removes all that a view has made.
func (w *View) clean(ctx context.Context) error {
	v := w.volume
	if err := image.Unmount(ctx, v.view()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end the view of volume %s: %w", v.Name, err)
	}
	var errs []error
	for _, path := range []string{v.viewImage(), v.view()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if way, err := snapshotsOf(v); err == nil && way.subvolume(v) {
		errs = append(errs, image.Subremove(ctx, v.image(), viewID, keyOf(v)))
	}
	return errors.Join(errs...)
}

// closeView ends the view that a killed process has left. The error is ErrViewed if a living one has it.
func (s *Volumes) closeView(ctx context.Context, v Volume) error {
	if v.Backend != "local" {
		return nil
	}
	lock, err := takeView(v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // The folder is gone, and the view with it.
	}
	if err != nil {
		return err
	}
	w := &View{volumes: s, volume: v, lock: lock}
	if _, err := os.Lstat(v.view()); errors.Is(err, fs.ErrNotExist) {
		return filelock.Remove(lock)
	}
	return w.Close()
}
