package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/provide/volume/image"
)

// finish ends what a killed process began with a volume. The caller has its lock. The volume's name is empty if there is none.
func (s *Volumes) finish(ctx context.Context, name string) (Volume, error) {
	if err := s.finishRestore(ctx, name); err != nil {
		return Volume{}, err
	}
	e, err := s.journal.Get(Kind, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Volume{}, nil
	}
	if err != nil {
		return Volume{}, err
	}
	v, err := payload[Volume](e.Payload)
	if err != nil {
		return Volume{}, err
	}
	switch v.Phase {
	case Making:
		return Volume{}, s.undoMake(ctx, v)
	case Removing:
		return Volume{}, s.remove(ctx, v, false)
	}
	return v, nil
}

// finishRestore completes a Restore that was killed after its renaming: the folder is back, and there is no record of the volume.
func (s *Volumes) finishRestore(ctx context.Context, name string) error {
	list, err := s.Trash()
	if err != nil {
		return err
	}
	for _, r := range list {
		if r.Name != name {
			continue
		}
		if _, err := os.Lstat(r.Trash); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		_, there := os.Lstat(r.Folder)
		_, known := s.journal.Get(Kind, name)
		if there == nil && errors.Is(known, fs.ErrNotExist) {
			v := r.Volume
			v.Phase = Ready
			if err := s.keep(ctx, v); err != nil {
				return err
			}
		}
		if there == nil || known != nil {
			if err := s.journal.Discard(ctx, removedKind, r.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish ends what killed processes began with any volume: the daemon's first work. It says what it did.
func (s *Volumes) Finish(ctx context.Context) (done []string, err error) {
	all, err := s.all()
	for _, v := range all {
		if v.Phase != Ready {
			done = append(done, "volume "+v.Name+", which a killed process was "+string(v.Phase))
		}
		bad := s.alone(ctx, v.Name, func(now Volume) error {
			if now.Name == "" {
				return nil
			}
			swept, err := image.Sweep(now.Folder)
			for _, path := range swept {
				if !filepath.IsAbs(path) { // Not a device.
					path = filepath.Join(now.Folder, path)
				}
				done = append(done, path)
			}
			return err
		})
		err = errors.Join(err, bad)
	}
	return done, err
}
