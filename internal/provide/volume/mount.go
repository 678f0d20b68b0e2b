package volume

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"plimsoll/internal/host/procfs"
)

// Mount mounts a volume for a user, and returns its root. An id that has it already changes nothing.
func (s *Volumes) Mount(ctx context.Context, name, id string) (m Mounted, err error) {
	err = s.existing(ctx, name, func(v Volume) error {
		b, err := of(v)
		if err != nil {
			return err
		}
		u, err := s.uses(name)
		if err != nil {
			return err
		}
		had := slices.ContainsFunc(u.List, func(x Use) bool { return x.ID == id })
		if !had {
			u.List, u.Ending = append(u.List, Use{ID: id, Since: time.Now().UTC()}), false
			if err := s.journal.Keep(ctx, useKind, name, u); err != nil {
				return err
			}
		}
		if m, err = b.mount(ctx, v); err != nil {
			if !had {
				err = errors.Join(err, s.drop(context.WithoutCancel(ctx), name, func(x Use) bool { return x.ID == id }))
			}
			return err
		}
		// The data must be reachable also where a limit can't be had.
		note, bad := s.limit(ctx, v)
		if bad != nil {
			note = bad.Error()
		}
		m.Note = joined(m.Note, note)
		return nil
	})
	return m, err
}

// joined are two notes, each of which may be empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// Unmount ends the use of a volume by an id; the last one unmounts it. An unknown id, or one of an unknown volume, is no error: Docker
// repeats it after its own crash.
func (s *Volumes) Unmount(ctx context.Context, name, id string) error {
	err := s.existing(ctx, name, func(v Volume) error {
		b, err := of(v)
		if err != nil {
			return err
		}
		u, err := s.uses(name)
		if err != nil {
			return err
		}
		others := slices.DeleteFunc(slices.Clone(u.List), func(x Use) bool { return x.ID == id })
		if len(others) == 0 {
			if err := s.unmount(ctx, b, v); err != nil {
				return err
			}
		}
		return s.drop(context.WithoutCancel(ctx), name, func(x Use) bool { return x.ID == id })
	})
	if errors.Is(err, fs.ErrNotExist) && isUnknown(err) {
		return nil
	}
	return err
}

func isUnknown(err error) bool {
	_, ok := errors.AsType[*UnknownError](err)
	return ok
}

// drop forgets users.
func (s *Volumes) drop(ctx context.Context, name string, gone func(Use) bool) error {
	u, err := s.uses(name)
	if err != nil {
		return err
	}
	u.List = slices.DeleteFunc(u.List, gone)
	if len(u.List) == 0 {
		return s.journal.Discard(ctx, useKind, name)
	}
	return s.journal.Keep(ctx, useKind, name, u)
}

// ending tells those who work in a volume, such as Dedupe, whether it is being unmounted.
func (s *Volumes) ending(ctx context.Context, name string, ends bool) error {
	u, err := s.uses(name)
	if err != nil || u.Ending == ends || len(u.List) == 0 {
		return err
	}
	u.Ending = ends
	return s.journal.Keep(ctx, useKind, name, u)
}

// uses are the users of a volume in this boot.
func (s *Volumes) uses(name string) (uses, error) {
	boot := procfs.Self().Boot
	e, err := s.journal.Get(useKind, name)
	if errors.Is(err, fs.ErrNotExist) {
		return uses{Boot: boot}, nil
	}
	if err != nil {
		return uses{}, err
	}
	u, err := payload[uses](e.Payload)
	if err == nil && u.Boot != boot {
		return uses{Boot: boot}, nil
	}
	return u, err
}

// Users are the users of a volume, the oldest first.
func (s *Volumes) Users(name string) ([]Use, error) {
	u, err := s.uses(name)
	return u.List, err
}

// Root is where a volume's data is reachable, "" if it isn't mounted.
func (s *Volumes) Root(v Volume) (string, error) {
	b, err := of(v)
	if err != nil {
		return "", err
	}
	return b.root(v)
}

// Examine reports what is wrong with a volume's data: it was deleted, cut or overwritten. It changes nothing.
func (s *Volumes) Examine(ctx context.Context, v Volume) error {
	b, err := of(v)
	if err != nil {
		return err
	}
	return b.examine(ctx, v)
}

// Space is that of a volume.
func (s *Volumes) Space(v Volume) (Space, error) {
	b, err := of(v)
	if err != nil {
		return Space{}, err
	}
	return b.space(v)
}
