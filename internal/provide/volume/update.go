package volume

import (
	"context"
	"fmt"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/text/usage"
)

// lasting are the keys, as in a profile's JSON, that are settled when a volume is made.
var lasting = map[string]string{
	"filesystem": "the file system",
	"provision":  "thin or thick",
	"directory":  "the folder",
	"level":      "the number of copies",
}

// Update changes what a volume promises, mounted or not: options as those of Options, but for the profile's name and the backend.
func (s *Volumes) Update(ctx context.Context, name string, options map[string]string) (v Volume, err error) {
	for _, k := range []string{"profile", "backend", "export", "mount_options"} {
		if _, ok := options[k]; ok {
			return v, usage.Errorf("%s can't be changed: make another volume, and copy the data", k)
		}
	}
	err = s.existing(ctx, name, func(now Volume) error {
		p, err := now.Profile.With(options)
		if err != nil {
			return err
		}
		v = now
		v.Profile = *p
		if p.Capacity != now.Profile.Capacity {
			v.GrownBy = 0
		}
		b, err := of(now)
		if err != nil {
			return err
		}
		err = s.admitted(ctx, v, func() error {
			if err := s.changeable(now, v); err != nil {
				return err
			}
			if err := b.change(ctx, now, v); err != nil {
				return err
			}
			return s.keep(context.WithoutCancel(ctx), v)
		})
		if err != nil {
			return err
		}
		return s.limitNoted(context.WithoutCancel(ctx), v)
	})
	return v, err
}

// changeable refuses a change that can't be made.
func (s *Volumes) changeable(now, v Volume) error {
	for _, key := range differing(now, v) {
		if what := lasting[key]; what != "" {
			return usage.Errorf("%s is settled when a volume is made: make another volume, and copy the data", what)
		}
	}
	if v.Profile.Service.Encryption.Enabled != now.Profile.Service.Encryption.Enabled {
		return usage.Errorf("encryption is settled when a volume is made: make another volume, and copy the data")
	}
	if v.Profile.Capacity < now.Profile.Capacity {
		return usage.Errorf("a volume can't shrink: it has %s", (&now.Profile).Asked("capacity"))
	}
	report, err := s.CheckVolume(v)
	if err != nil {
		return err
	}
	if err := report.Refusal(); err != nil {
		return err
	}
	return s.storable(v)
}

// Promises lists what a volume's backend keeps of its profile: "iops.max 2000: enforced".
func (s *Volumes) Promises(v Volume) (map[string]string, error) {
	report, err := s.CheckVolume(v)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, a := range report.Keys {
		out[a.Key] = fmt.Sprintf("%s (%s)", a.Value, a.Level)
		if a.Level != profile.Enforced {
			out[a.Key] = fmt.Sprintf("%s (%s: %s)", a.Value, a.Level, a.Why)
		}
	}
	return out, nil
}
