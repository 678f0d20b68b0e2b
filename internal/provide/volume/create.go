package volume

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/text/usage"
)

// An ExistsError says that there is a volume of that name with other promises.
type ExistsError struct {
	Name string
	// Differs are the keys that differ.
	Differs []string
}

// Error names the keys.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("volume %s exists already, and differs in %s: change it with plimsoll volume update, or choose another name", e.Name, strings.Join(e.Differs, ", "))
}

// Create makes a volume. If there is one of that name that was made in the same way, nothing happens, and made is false; if it was made in another way, the error is
// an *ExistsError. A profile that the backend can't keep is a refusal.
func (s *Volumes) Create(ctx context.Context, name, backend string, p *profile.Profile) (v Volume, made bool, err error) {
	if err := relative(s.state); err != nil {
		return v, false, err
	}
	b, err := backendOf(backend)
	if err != nil {
		return v, false, err
	}
	err = s.alone(ctx, name, func(now Volume) error {
		v = Volume{Name: name, Backend: backend, Profile: *p, Created: time.Now().UTC(), Phase: Making, Folder: s.folderOf(name, p)}
		if now.Name != "" {
			differs := differing(now, v)
			v = now
			if differs != nil {
				return &ExistsError{name, differs}
			}
			return nil
		}
		if err := s.permitted(&v); err != nil {
			return err
		}
		made = true
		return s.make(ctx, b, &v)
	})
	return v, made, err
}

// folderOf is the folder of a volume.
func (s *Volumes) folderOf(name string, p *profile.Profile) string {
	if p.Directory != "" {
		return filepath.Join(p.Directory, name)
	}
	return filepath.Join(s.Folder(), name)
}

// differing lists the keys in which two volumes differ.
func differing(a, b Volume) []string {
	x, y := flat(a), flat(b)
	var keys []string
	for k, v := range x {
		if !bytes.Equal(v, y[k]) {
			keys = append(keys, k)
		}
	}
	for k := range y {
		if _, ok := x[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// flat is a volume's promises by the keys of its JSON.
func flat(v Volume) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	b, err := json.Marshal(v.Profile)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err) // A profile is read from text, and has nothing that JSON can't hold.
	}
	out["backend"] = json.RawMessage(v.Backend)
	return out
}

// permitted refuses what the backend can't keep, and notes what it leaves out.
func (s *Volumes) permitted(v *Volume) error {
	report, err := s.Check(v.Backend, &v.Profile)
	if err != nil {
		return err
	}
	if err := report.Refusal(); err != nil {
		return err
	}
	v.Plain = slices.ContainsFunc(report.Keys, func(a profile.Ability) bool { return a.Key == "service.encryption" && a.Level == profile.Unsupported })
	switch _, err := os.Lstat(v.Folder); {
	case err == nil:
		return usage.Errorf("the folder %s exists, and belongs to no volume: move it away, or choose another name", v.Folder)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// make makes a volume: its record, its folder, its data. What it can't complete, it removes.
func (s *Volumes) make(ctx context.Context, b backend, v *Volume) error {
	if err := os.MkdirAll(filepath.Dir(v.Folder), 0o711); err != nil {
		return err
	}
	err := s.journal.Alone(ctx, Kind, func() error {
		return errors.Join(s.choose(v), s.journal.Keep(ctx, Kind, v.Name, v))
	})
	if err == nil {
		err = os.Mkdir(v.Folder, 0o711)
	}
	if err == nil {
		err = b.make(ctx, *v)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(v.Folder))
	}
	if err == nil {
		ready := *v
		ready.Phase = Ready
		if err = s.keep(ctx, ready); err == nil {
			*v = ready
			return nil
		}
	}
	return errors.Join(fmt.Errorf("volume %s: %w", v.Name, err), s.undoMake(context.WithoutCancel(ctx), *v))
}

// undoMake removes a volume that was not completed. Nothing was in it.
func (s *Volumes) undoMake(ctx context.Context, v Volume) error {
	if err := s.deleteData(v, v.Folder); err != nil {
		return err
	}
	return s.journal.Discard(ctx, Kind, v.Name)
}

// syncFolder brings the names in a folder to its disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
