package volume

import (
	"context"
	"time"

	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
)

// Remove removes a volume that nobody uses. Its data stays for the time of Keep, unless now is set; then Empty deletes it.
func (s *Volumes) Remove(ctx context.Context, name string, now bool) error {
	return s.existing(ctx, name, func(v Volume) error {
		if err := s.unused(v); err != nil {
			return err
		}
		b, err := of(v)
		if err != nil {
			return err
		}
		if err := s.unmount(ctx, b, v); err != nil {
			return err
		}
		if err := s.closeView(ctx, v); err != nil {
			return err
		}
		// To the millisecond, which the entry of the trash is named for.
		v.Phase, v.Removed = Removing, time.Now().UTC().Truncate(time.Millisecond)
		then := s.discard
		if now || s.Keep <= 0 {
			v.Phase, then = Deleting, s.delete
		}
		if err := s.keep(ctx, v); err != nil {
			return err
		}
		return then(context.WithoutCancel(ctx), v)
	})
}

// unused returns the error of a volume with users. One that must be mounted to be used, and isn't, has none: a process was killed as it mounted it.
func (s *Volumes) unused(v Volume) error {
	users, err := s.Users(v.Name)
	if err != nil || len(users) == 0 {
		return err
	}
	if root, err := s.Root(v); err != nil || root == "" {
		return nil //nolint:nilerr // A volume whose data is missing can be removed.
	}
	return inUse(users)
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
