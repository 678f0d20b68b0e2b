package volume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/provide/volume/dedupe"
	"plimsoll/internal/text/size"
)

// dedupeEvery is how often a volume's files are looked through for equal parts.
const dedupeEvery = 24 * time.Hour

// endPoll is how often work in a mounted volume asks whether it is to be unmounted. It is a small part of the time for which an unmount waits for programs.
const endPoll = 100 * time.Millisecond

// errEnds says that a volume is about to be unmounted.
var errEnds = errors.New("the volume is unmounted")

// Dedupe shares the blocks of equal parts of files in the mounted volumes whose profile asks for that, once a day each. It ends where a
// volume is unmounted. It says what it did.
func (s *Volumes) Dedupe(ctx context.Context) (done []string, err error) {
	all, err := s.List()
	for _, v := range all {
		if !v.Profile.Service.Dedupe || time.Since(v.Deduped) < dedupeEvery {
			continue
		}
		said, bad := s.dedupe(ctx, v)
		if said != "" {
			done = append(done, said)
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("volume %s: %w", v.Name, bad))
		}
	}
	return done, err
}

// dedupe does it for one volume. It has no lock, since it takes long.
func (s *Volumes) dedupe(ctx context.Context, v Volume) (said string, err error) {
	root, err := s.Root(v)
	if root == "" || err != nil {
		return "", err
	}
	ctx, stop := s.whileMounted(ctx, v.Name)
	defer stop()
	did, err := dedupe.Folder(ctx, root)
	if context.Cause(ctx) != nil {
		return "", nil // The rest is for another day.
	}
	if err != nil {
		return "", err
	}
	err = s.alone(ctx, v.Name, func(now Volume) error {
		if now.Name == "" {
			return nil
		}
		now.Deduped = time.Now().UTC()
		return s.journal.Keep(ctx, Kind, now.Name, now)
	})
	return fmt.Sprintf("volume %s: %s of %s in %s share their blocks now", v.Name, size.Bytes(did.Shared), size.Bytes(did.Read), size.Plural(did.Files, "file")), err
}

// whileMounted returns a context that ends when somebody wants to unmount the volume.
func (s *Volumes) whileMounted(ctx context.Context, name string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		poll := time.NewTicker(endPoll)
		defer poll.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-poll.C:
			}
			if u, err := s.uses(name); err != nil || u.Ending || len(u.List) == 0 {
				cancel(errEnds)
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
