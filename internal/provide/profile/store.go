package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/text/usage"
)

// A Store has the built-in profiles and those of the user, which are files of a folder. Names are matched without regard to case. A profile of
// the user never has the name of a built-in one: a volume's profile would mean another thing on the next machine.
type Store struct {
	// Dir is the folder. It need not exist.
	Dir string
}

// In is the store in a state folder.
func In(state string) Store { return Store{Dir: filepath.Join(state, "profiles")} }

// suffix ends the name of a profile's file; temporary begins that of one that is being written, behind a dot.
const (
	suffix    = ".yaml"
	temporary = "profile-"
)

// users lists the names of the user's profiles. shadowed are files past Add that have the name of a built-in one, and no effect.
func (s Store) users() (names, shadowed []string, err error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("profiles: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || !strict.IsName(name) {
			continue
		}
		if b, _ := builtIn(name); b != "" {
			shadowed = append(shadowed, filepath.Join(s.Dir, e.Name()))
			continue
		}
		names = append(names, name)
	}
	return names, shadowed, nil
}

// Names lists all profiles, the built-in ones first.
func (s Store) Names() ([]string, error) {
	users, _, err := s.users()
	return append(BuiltIn(), users...), err
}

// user returns the user's profile of that name as it is spelled, and its file; "" if there is none.
func (s Store) user(name string) (spelled, file string, err error) {
	users, _, err := s.users()
	for _, u := range users {
		if strings.EqualFold(u, name) {
			return u, filepath.Join(s.Dir, u+suffix), nil
		}
	}
	return "", "", err
}

// Text returns a profile as it was written, its name as it is spelled, and the name of its file for messages. The error of an unknown name is a
// *usage.Error that names the nearest one.
func (s Store) Text(name string) (spelled, file string, text []byte, err error) {
	if spelled, text := builtIn(name); text != nil {
		return spelled, "profiles/" + spelled + suffix, text, nil
	}
	spelled, file, err = s.user(name)
	if err != nil {
		return "", "", nil, err
	}
	if spelled == "" {
		return "", "", nil, s.unknown(name)
	}
	text, err = os.ReadFile(file)
	if err != nil {
		return "", "", nil, fmt.Errorf("profile %s: %w", spelled, err)
	}
	return spelled, file, text, nil
}

// unknown is the error of a name that no profile has.
func (s Store) unknown(name string) error {
	all, err := s.Names()
	if err != nil {
		return err
	}
	return usage.Errorf("there is no profile %s%s (there are %s)", strict.Short(name), strict.DidYouMean(name, all), strings.Join(all, ", "))
}

// Lookup returns a profile by its name.
func (s Store) Lookup(name string) (*Profile, error) {
	spelled, file, text, err := s.Text(name)
	if err != nil {
		return nil, err
	}
	p, err := Parse(file, text)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	p.Name = spelled
	return p, nil
}

// Listed is a profile in a list.
type Listed struct {
	Profile
	// BuiltIn is set for those that come with Plimsoll.
	BuiltIn bool `json:"built_in"`
}

// List returns all profiles, the built-in ones first. The error has the faults of those that can't be read; the others are returned.
func (s Store) List() ([]Listed, error) {
	names, err := s.Names()
	_, shadowed, _ := s.users() // Names has the error.
	errs := []error{err}
	for _, file := range shadowed {
		errs = append(errs, usage.Errorf("%s has the name of a built-in profile, and no effect: rename it", file))
	}
	var all []Listed
	for _, name := range names {
		p, err := s.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_, text := builtIn(name)
		all = append(all, Listed{*p, text != nil})
	}
	return all, errors.Join(errs...)
}

// Add keeps a profile of the user's, whole or not at all, as it is written. file is for messages. An existing one is kept unless replace is set. The
// errors of the user are *usage.Errors; those of the text wrap strict.Errors.
func (s Store) Add(name, file string, text []byte, replace bool) error {
	if !strict.IsName(name) {
		return usage.Errorf("%s", strict.NameFault(name))
	}
	if b, _ := builtIn(name); b != "" {
		return usage.Errorf("the profile %s is built in and stays as it is: take another name", b)
	}
	if _, err := Parse(file, text); err != nil {
		return usage.Errorf("%w", err)
	}
	old, to, err := s.user(name)
	switch {
	case err != nil:
		return err
	case old != "" && !replace:
		return usage.Errorf("there is a profile %s already: take another name, or replace it with --replace", old)
	case old == "":
		to = filepath.Join(s.Dir, name+suffix)
	}
	// A profile may name a command that root runs, so only the user can write here.
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("profile %s: %w", name, err)
	}
	if _, err := filelock.Sweep(s.Dir, temporary); err != nil {
		return fmt.Errorf("profile %s: %w", name, err)
	}
	err = filelock.Write(to, temporary, func(f *os.File) error { _, err := f.Write(text); return err })
	if err != nil {
		return fmt.Errorf("profile %s: %w", name, err)
	}
	return nil
}

// Remove removes a profile of the user's. Volumes keep their own copies.
func (s Store) Remove(name string) error {
	if b, _ := builtIn(name); b != "" {
		return usage.Errorf("the profile %s is built in and can't be removed", b)
	}
	spelled, file, err := s.user(name)
	switch {
	case err != nil:
		return err
	case spelled == "":
		return s.unknown(name)
	}
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("profile %s: %w", spelled, err)
	}
	return nil
}
