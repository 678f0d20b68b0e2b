package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/provide/profile"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/usage"
)

// DefaultKeep is how long the data of a removed volume stays.
const DefaultKeep = 24 * time.Hour

// Volumes are those of a state folder. Several processes may use the same.
type Volumes struct {
	// Profiles has the profiles that volumes are made by.
	Profiles profile.Store
	// Machine answers what this machine can do.
	Machine profile.Machine
	// Records is the folder of the machine's records of limits. New sets that of all Plimsolls of this machine.
	Records string
	// Keep is how long the data of a removed volume stays; New sets DefaultKeep.
	Keep time.Duration

	state   string
	journal *journal.Journal
	// stale is how old a use must be before Reconcile looks for its container.
	stale time.Duration
	read  decoded
}

// New returns the volumes of a state folder, which must be an absolute path. It need not exist.
func New(state string) *Volumes {
	return &Volumes{
		Profiles: profile.In(state), Machine: profile.Host{}, Keep: DefaultKeep,
		Records: paths.Machine(state, nil), state: state, journal: journal.In(state), stale: stale,
	}
}

// Folder is where volumes are kept whose profile names no directory.
func (s *Volumes) Folder() string { return filepath.Join(s.state, "volumes") }

// An UnknownError says that there is no volume of a name.
type UnknownError struct {
	Name string
	// Like are the names of the volumes that there are.
	Like []string
}

// Error suggests the nearest name.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no volume %s%s", strict.Short(e.Name), strict.DidYouMean(e.Name, e.Like))
}

// Is makes the error an fs.ErrNotExist.
func (*UnknownError) Is(target error) bool { return target == fs.ErrNotExist }

// Get returns a volume. The error is an *UnknownError if there is none.
func (s *Volumes) Get(name string) (Volume, error) {
	if err := CheckName(name); err != nil {
		return Volume{}, err
	}
	e, err := s.journal.Get(Kind, name)
	if err == nil {
		var v Volume
		if v, err = payload[Volume](e.Payload); err == nil && v.ready() {
			return v, nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Volume{}, fmt.Errorf("volume %s: %w", name, err)
	}
	return Volume{}, s.unknown(name)
}

// unknown is the error of a name without a volume.
func (s *Volumes) unknown(name string) error {
	list, _ := s.List() // A damaged record of another volume is not the caller's subject.
	e := &UnknownError{Name: name}
	for _, v := range list {
		e.Like = append(e.Like, v.Name)
	}
	return e
}

// List returns all volumes by name. The error names those whose record can't be read; the others are returned.
func (s *Volumes) List() ([]Volume, error) {
	all, err := s.all()
	return slices.DeleteFunc(all, func(v Volume) bool { return !v.ready() }), err
}

// all is List with those that are not ready.
func (s *Volumes) all() ([]Volume, error) {
	entries, err := s.journal.Entries(Kind)
	list, bad := s.read.volumes(entries)
	return list, errors.Join(err, bad)
}

// alone calls f while no other process works on the volume, after what a killed one left was finished. now is the volume; its name is empty
// if there is none.
func (s *Volumes) alone(ctx context.Context, name string, f func(now Volume) error) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return s.journal.AloneWith(ctx, Kind, name, func() error {
		now, err := s.finish(ctx, name)
		if err != nil {
			return fmt.Errorf("volume %s: %w", name, err)
		}
		return f(now)
	})
}

// existing is alone for a volume that must exist.
func (s *Volumes) existing(ctx context.Context, name string, f func(now Volume) error) error {
	return s.alone(ctx, name, func(now Volume) error {
		if now.Name == "" {
			return s.unknown(name)
		}
		if err := f(now); err != nil {
			return fmt.Errorf("volume %s: %w", name, err)
		}
		return nil
	})
}

// keep records a volume so that a power cut doesn't take it.
func (s *Volumes) keep(ctx context.Context, v Volume) error {
	if err := s.journal.Keep(ctx, Kind, v.Name, v); err != nil {
		return err
	}
	return s.journal.Sync(Kind, v.Name)
}

// Options says where a volume is kept, and by which profile, from the options of "docker volume create -o". Errors are the user's.
func (s *Volumes) Options(options map[string]string) (where Where, p *profile.Profile, err error) {
	where.Backend = "local"
	own := map[string]*string{"backend": &where.Backend, "export": &where.Export, "mount_options": &where.MountOptions}
	rest := map[string]string{}
	for k, v := range options {
		if to := own[k]; to != nil {
			*to = v
		} else {
			rest[k] = v
		}
	}
	if _, err := backendOf(where.Backend); err != nil {
		return where, nil, err
	}
	if err := where.check(); err != nil {
		return where, nil, err
	}
	p, err = s.Profiles.FromOptions(rest)
	return where, p, err
}

// Check reports what a backend keeps of a profile here.
func (s *Volumes) Check(backend string, p *profile.Profile) (profile.Report, error) {
	b, err := profile.BackendNamed(backend)
	if err != nil {
		return profile.Report{}, err
	}
	return profile.Check(p, b, machine{s.Machine, s, ""}, s.Folder()), nil
}

// relative refuses a state folder that is no absolute path: records name folders.
func relative(path string) error {
	if !filepath.IsAbs(path) {
		return usage.Errorf("%s is not an absolute path", path)
	}
	return nil
}
