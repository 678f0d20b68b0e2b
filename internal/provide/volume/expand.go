package volume

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/provide/profile"
)

// Expand makes the mounted volumes larger that are nearly full and whose profile asks for that. It says what it did.
func (s *Volumes) Expand(ctx context.Context) (done []string, err error) {
	all, err := s.List()
	for _, v := range all {
		if !v.Profile.Service.Autoexpand.Enabled {
			continue
		}
		grown, bad := s.expand(ctx, v.Name)
		if grown != "" {
			done = append(done, grown)
		}
		err = errors.Join(err, bad)
	}
	return done, err
}

// expand makes one volume larger if it is nearly full.
func (s *Volumes) expand(ctx context.Context, name string) (grown string, err error) {
	err = s.alone(ctx, name, func(v Volume) error {
		a := v.Profile.Service.Autoexpand
		if v.Name == "" || !a.Enabled || v.Grown >= a.Limit {
			return nil
		}
		space, err := s.Space(v)
		if err != nil || space.Size == 0 || space.Used*100 < space.Size*int64(a.Threshold) {
			return err
		}
		larger := v
		larger.Grown++
		larger.Profile.Capacity = min(profile.MaxCapacity, v.Profile.Capacity+v.Profile.Capacity/100*int64(a.Increment))
		larger.GrownBy += larger.Profile.Capacity - v.Profile.Capacity
		b, err := of(v)
		if err != nil {
			return err
		}
		if err := b.change(ctx, v, larger); err != nil {
			return err
		}
		grown = fmt.Sprintf("volume %s was %d %% full: it has %s now", name, space.Used*100/space.Size, larger.Profile.Asked("capacity"))
		return s.keep(context.WithoutCancel(ctx), larger)
	})
	return grown, err
}
