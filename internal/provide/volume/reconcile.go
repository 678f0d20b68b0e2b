package volume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/provide/volume/image"
)

// stale is how old a use must be before Reconcile looks for its container: Docker mounts a volume some seconds before the container has it.
const stale = 5 * time.Minute

// ByHand begins the ids of "plimsoll volume mount": such a use ends by hand alone.
const ByHand = "by-hand"

// Reconcile ends the uses of which Docker has told nothing: by a daemon that was killed, or by an earlier boot. A volume that is mounted in no container's
// namespace has no users but those by hand. It says what it did.
func (s *Volumes) Reconcile(ctx context.Context) (done []string, err error) {
	entries, err := s.journal.Entries(useKind)
	for _, e := range entries {
		bad := s.alone(ctx, e.ID, func(v Volume) error {
			if v.Name == "" || v.Backend != "local" {
				return nil
			}
			n, err := s.forget(ctx, v)
			if n > 0 {
				done = append(done, fmt.Sprintf("volume %s: %d mounts whose container is gone", v.Name, n))
			}
			return err
		})
		err = errors.Join(err, bad)
	}
	return done, err
}

// forget ends the stale uses of a volume, and returns how many.
func (s *Volumes) forget(ctx context.Context, v Volume) (n int, err error) {
	u, err := s.uses(v.Name)
	if err != nil {
		return 0, err
	}
	root, err := s.Root(v)
	if err != nil {
		return 0, err
	}
	used := false
	if root != "" {
		if used, err = image.Elsewhere(v.target()); err != nil {
			return 0, err
		}
	}
	gone := func(x Use) bool {
		return !used && time.Since(x.Since) > stale && x.ID != ByHand
	}
	left := 0
	for _, x := range u.List {
		if gone(x) {
			n++
		} else {
			left++
		}
	}
	if left == 0 && root != "" {
		b, err := of(v)
		if err != nil {
			return 0, err
		}
		if err := s.unmount(ctx, b, v); err != nil {
			return 0, err
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, s.drop(ctx, v.Name, gone)
}
