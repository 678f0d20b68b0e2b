package volume

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// retryAfter is how long a service that failed for a volume waits, if its interval is no shorter.
const retryAfter = 5 * time.Minute

// A service is work that a volume's profile asks for at intervals. When it was last done is read from the volume's record, so it survives restarts. A time
// that was missed is made up once.
type service struct {
	volumes *Volumes
	name    string
	// asked returns the interval in minutes, 0 if the volume doesn't ask for it, and when it was last done.
	asked func(v Volume) (minutes int, last time.Time)
	// do does it, and says what it did.
	do func(ctx context.Context, v Volume) (string, error)
	// failed is when it last failed, by volume.
	failed map[string]time.Time
}

// services are all of them.
func (s *Volumes) services() []*service {
	return []*service{
		{volumes: s, name: "snapshot", asked: snapshotAsked, do: s.scheduledSnapshot, failed: map[string]time.Time{}},
		{volumes: s, name: "backup", asked: s.backupAsked, do: s.scheduledBackup, failed: map[string]time.Time{}},
		{volumes: s, name: "replication", asked: replicationAsked, do: s.scheduledReplication, failed: map[string]time.Time{}},
	}
}

// work does what is due for all volumes. It says what it did.
func (s *service) work(ctx context.Context, now time.Time) (done []string, err error) {
	all, err := s.volumes.List()
	for _, v := range all {
		minutes, last := s.asked(v)
		if minutes == 0 || ctx.Err() != nil {
			continue
		}
		interval := time.Duration(minutes) * time.Minute
		if !due(now, last, interval) || !due(now, s.failed[v.Name], min(interval, retryAfter)) {
			continue
		}
		said, bad := s.do(ctx, v)
		if bad != nil {
			s.failed[v.Name] = now
			if !isUnknown(bad) { // It was removed meanwhile.
				err = errors.Join(err, fmt.Errorf("scheduled %s: %w", s.name, bad))
			}
			continue
		}
		delete(s.failed, v.Name)
		done = append(done, said)
	}
	return done, err
}

// due reports whether work that was last done at a time is to be done now. A time in the future means that the clock has jumped backwards.
func due(now, last time.Time, interval time.Duration) bool {
	since := now.Sub(last)
	return since >= interval || since < 0
}

// snapshotAsked is what a volume's profile says of snapshots. A new volume has its first after one interval.
func snapshotAsked(v Volume) (minutes int, last time.Time) {
	if !v.Profile.Service.Snapshot.Enabled {
		return 0, last
	}
	last = v.Created
	for _, p := range v.Snapshots { // Not the latest time, but the last: the clock may have jumped.
		if p.Scheduled {
			last = p.Taken
		}
	}
	return v.Profile.Service.Snapshot.Minutes, last
}

// scheduledSnapshot takes a snapshot, and removes the oldest scheduled ones beyond the profile's number.
func (s *Volumes) scheduledSnapshot(ctx context.Context, v Volume) (string, error) {
	p, err := s.Snapshot(ctx, v.Name, SnapshotOptions{Scheduled: true})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("volume %s: snapshot %s is taken", v.Name, p.ID), s.rotate(ctx, v.Name)
}

// rotate removes the oldest scheduled snapshots of a volume beyond its profile's number.
func (s *Volumes) rotate(ctx context.Context, name string) error {
	return s.existing(ctx, name, func(v Volume) error {
		var scheduled []Snapshot
		for _, p := range v.Snapshots {
			if p.Scheduled && p.Phase == Ready {
				scheduled = append(scheduled, p)
			}
		}
		over := len(scheduled) - max(1, v.Profile.Service.Snapshot.Max)
		for _, p := range scheduled[:max(0, over)] {
			if err := s.removeSnapshot(ctx, &v, p); err != nil {
				return err
			}
		}
		return nil
	})
}
