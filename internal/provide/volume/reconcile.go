package volume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/text/size"
)

// stale is how old a use must be before Reconcile looks for its container: Docker mounts a volume some seconds before the container has it.
const stale = 5 * time.Minute

// ByHand is the id of "plimsoll volume mount": such a use ends by hand alone.
const ByHand = "by-hand"

// Reconcile ends the uses of which Docker has told nothing: by a daemon that was killed, or by an earlier boot. A volume that no container's mount
// namespace shows has no users but those by hand. It says what it did.
func (s *Volumes) Reconcile(ctx context.Context) (done []string, err error) {
	entries, err := s.journal.Entries(useKind)
	for _, e := range entries {
		bad := s.alone(ctx, e.ID, func(v Volume) error {
			if v.Name == "" {
				return s.journal.Discard(ctx, useKind, e.ID)
			}
			n, err := s.release(ctx, v)
			if n > 0 {
				done = append(done, fmt.Sprintf("volume %s: %s without a container ended", v.Name, size.Plural(n, "mount")))
			}
			if err != nil {
				return fmt.Errorf("volume %s: %w", v.Name, err)
			}
			return nil
		})
		err = errors.Join(err, bad)
	}
	return done, err
}

// release ends the stale uses of a volume, and returns how many.
func (s *Volumes) release(ctx context.Context, v Volume) (n int, err error) {
	b, err := of(v)
	if err != nil {
		return 0, err
	}
	u, err := s.uses(v.Name)
	if err != nil {
		return 0, err
	}
	old := func(x Use) bool { return time.Since(x.Since) > s.stale && x.ID != ByHand }
	if n = len(u.List); n > 0 && !slices.ContainsFunc(u.List, old) {
		return 0, nil
	}
	if used, err := b.elsewhere(v); err != nil || used {
		return 0, err
	}
	u.List = slices.DeleteFunc(u.List, old)
	if len(u.List) == 0 {
		if err := s.unmount(ctx, b, v); err != nil {
			return 0, err
		}
	}
	return n - len(u.List), s.keepUses(ctx, v.Name, u)
}
