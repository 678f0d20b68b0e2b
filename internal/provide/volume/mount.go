package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/host/procfs"
)

// Mount mounts a volume for a user, and returns its root. Each Mount by an id needs an Unmount, but for ByHand.
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
		before := u
		u.List = slices.Clone(u.List)
		u.begin(id)
		u.Ending = false
		if err := s.keepUses(ctx, name, u); err != nil {
			return err
		}
		if m, err = b.mount(ctx, v); err != nil {
			return errors.Join(err, s.keepUses(context.WithoutCancel(ctx), name, before))
		}
		if m.Note != u.Note {
			u.Note = m.Note
			if err := s.keepUses(ctx, name, u); err != nil {
				return err
			}
		}
		// The data must be reachable also where a limit can't be had: the note says it.
		_ = s.limitNoted(ctx, v)
		m.Note, err = s.Note(name)
		return err
	})
	return m, err
}

// limitNoted is limit for a volume with users: what doesn't hold now stands in their record.
func (s *Volumes) limitNoted(ctx context.Context, v Volume) error {
	note, err := s.limit(ctx, v)
	if err != nil {
		note = err.Error()
	}
	u, bad := s.uses(v.Name)
	if bad != nil || u.Unheld == note || len(u.List) == 0 {
		return errors.Join(err, bad)
	}
	u.Unheld = note
	return errors.Join(err, s.keepUses(ctx, v.Name, u))
}

// joined are two notes, each of which may be empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// begin counts a mount by an id.
func (u *uses) begin(id string) {
	i := u.index(id)
	switch {
	case i < 0:
		u.List = append(u.List, Use{ID: id, Since: time.Now().UTC(), Times: 1})
	case id != ByHand:
		u.List[i].Times++
	}
}

// end counts an unmount by an id.
func (u *uses) end(id string) {
	i := u.index(id)
	if i < 0 {
		return
	}
	if u.List[i].Times--; u.List[i].Times <= 0 {
		u.List = slices.Delete(u.List, i, i+1)
	}
}

func (u *uses) index(id string) int {
	return slices.IndexFunc(u.List, func(x Use) bool { return x.ID == id })
}

// Unmount ends a use of a volume by an id; the last one unmounts it. An unknown id, or one of an unknown volume, is no error: Docker
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
		u.end(id)
		if len(u.List) == 0 {
			if err := s.unmount(ctx, b, v); err != nil {
				return err
			}
		}
		return s.keepUses(context.WithoutCancel(ctx), name, u)
	})
	if isUnknown(err) {
		return nil
	}
	return err
}

func isUnknown(err error) bool {
	_, ok := errors.AsType[*UnknownError](err)
	return ok
}

// keepUses records the users of a volume.
func (s *Volumes) keepUses(ctx context.Context, name string, u uses) error {
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

// lastUse is about when a volume was mounted or unmounted last; zero if that is not known.
func (s *Volumes) lastUse() time.Time {
	st, err := os.Stat(filepath.Dir(s.journal.Path(useKind, "any")))
	if err != nil {
		return time.Time{}
	}
	return st.ModTime()
}

// Note says what isn't as the profile promises since the volume was mounted; "" if all is.
func (s *Volumes) Note(name string) (string, error) {
	u, err := s.uses(name)
	return joined(u.Note, u.Unheld), err
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
