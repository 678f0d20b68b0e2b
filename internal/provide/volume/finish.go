package volume

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"plimsoll/internal/provide/volume/image"
)

// finish ends what a killed process began with a volume. The caller has its lock. The volume's name is empty if there is none.
func (s *Volumes) finish(ctx context.Context, name string) (Volume, error) {
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
	case Making, Filling:
		return Volume{}, s.undoMake(ctx, v)
	case Removing:
		return Volume{}, s.discard(ctx, v)
	case Deleting:
		return Volume{}, s.delete(ctx, v)
	case Restoring:
		return s.restore(ctx, v)
	}
	// A volume whose image is damaged must be removable nevertheless. Finish reports the error, and each call tries again.
	_ = s.finishSnapshots(ctx, &v)
	return v, ctx.Err()
}

// Finish ends what killed processes began with any volume. It says what it did.
func (s *Volumes) Finish(ctx context.Context) (done []string, err error) {
	all, err := s.all()
	for _, v := range all {
		if v.ready() {
			continue
		}
		bad := s.alone(ctx, v.Name, func(Volume) error { return nil })
		if bad == nil {
			done = append(done, "volume "+v.Name+", which another process was "+string(v.Phase))
		}
		err = errors.Join(err, bad)
	}
	return done, err
}

// sweep removes the unfinished images of killed processes. It lists them.
func (s *Volumes) sweep(ctx context.Context) (done []string, err error) {
	all, err := s.List()
	for _, v := range all {
		bad := s.alone(ctx, v.Name, func(now Volume) error {
			if now.Name == "" {
				return nil
			}
			if err := s.finishSnapshots(ctx, &now); err != nil {
				return err
			}
			if err := s.closeView(ctx, now); err != nil && !errors.Is(err, ErrViewed) {
				return err
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
