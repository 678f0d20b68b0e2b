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
	"syscall"
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
func (s *Volumes) Create(ctx context.Context, name string, where Where, p *profile.Profile) (v Volume, made bool, err error) {
	if err := relative(s.state); err != nil {
		return v, false, err
	}
	b, err := backendOf(where.Backend)
	if err != nil {
		return v, false, err
	}
	err = s.alone(ctx, name, func(now Volume) error {
		v = Volume{Name: name, Where: where, Profile: *p, Created: time.Now().UTC(), Phase: Making, Folder: s.folderOf(name, p)}
		if now.Name != "" {
			differs := differing(now, v)
			v = now
			if differs != nil {
				return &ExistsError{name, differs}
			}
			return nil
		}
		if err := s.begin(ctx, &v); err != nil {
			return err
		}
		made = true
		return s.make(ctx, &v, func(ctx context.Context) error { return b.make(ctx, v) })
	})
	return v, made, err
}

// CreateWith makes a volume with data that fill writes into its folder root. There must be no volume of that name. If fill fails, or is killed, there is no
// volume.
func (s *Volumes) CreateWith(ctx context.Context, name string, where Where, p *profile.Profile, fill func(ctx context.Context, root string) error) (v Volume, err error) {
	b, err := backendOf(where.Backend)
	if err != nil {
		return v, err
	}
	return s.createBy(ctx, name, where, p, func(ctx context.Context, v Volume) error {
		if err := b.make(ctx, v); err != nil {
			return err
		}
		m, err := b.mount(ctx, v)
		if err != nil {
			return err
		}
		// A folder of a server may have another machine's data.
		if there, err := os.ReadDir(m.Root); err != nil || len(there) > 0 {
			return errors.Join(err, usage.Errorf("%s has files already: choose another name", m.Root))
		}
		if err := fill(ctx, m.Root); err != nil {
			if space, bad := b.space(v); bad == nil && space.Size > 0 && space.Used >= space.Size/100*95 {
				err = fmt.Errorf("the volume is full: give it a larger capacity than %s: %w", v.Profile.Asked("capacity"), err)
			}
			return err
		}
		return b.unmount(ctx, v)
	})
}

// createBy makes a volume whose data another function makes than the backend's. There must be no volume of that name.
func (s *Volumes) createBy(ctx context.Context, name string, where Where, p *profile.Profile, data func(context.Context, Volume) error) (v Volume, err error) {
	if err := relative(s.state); err != nil {
		return v, err
	}
	err = s.alone(ctx, name, func(now Volume) error {
		if now.Name != "" {
			return usage.Errorf("there is a volume %s: choose another name, or remove it first", name)
		}
		v = Volume{Name: name, Where: where, Profile: *p, Created: time.Now().UTC(), Phase: Making, Folder: s.folderOf(name, p)}
		if err := s.begin(ctx, &v); err != nil {
			return err
		}
		return s.make(ctx, &v, func(ctx context.Context) error { return data(ctx, v) })
	})
	return v, err
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
	v.Profile.Capacity -= v.GrownBy // Autoexpand keeps what was asked for.
	b, err := json.Marshal(v.Profile)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(err) // A profile is read from text, and has nothing that JSON can't hold.
	}
	out["backend"], out["export"], out["mount_options"] = json.RawMessage(v.Backend), json.RawMessage(v.Export), json.RawMessage(v.MountOptions)
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
	if err := s.storable(*v); err != nil {
		return err
	}
	switch _, err := os.Lstat(v.Folder); {
	case err == nil:
		return usage.Errorf("the folder %s exists, and belongs to no volume: move it away, or choose another name", v.Folder)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// storable refuses a profile with backups for which there is no store.
func (s *Volumes) storable(v Volume) error {
	b := v.Profile.Service.Backup
	if !b.Enabled || slices.Contains(v.Profile.Optional, "service.backup") {
		return nil
	}
	_, err := s.Store(b.Provider)
	return err
}

// begin records a volume that is to be made, if it may be.
func (s *Volumes) begin(ctx context.Context, v *Volume) error {
	return s.admitted(ctx, *v, func() error {
		if err := s.permitted(v); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(v.Folder), 0o711); err != nil {
			return err
		}
		if s.counts(*v) {
			if err := s.choose(v); err != nil {
				return err
			}
		}
		return s.journal.Keep(ctx, Kind, v.Name, v)
	})
}

// make makes a recorded volume: its folder and its data. What it can't complete, it removes.
func (s *Volumes) make(ctx context.Context, v *Volume, data func(context.Context) error) error {
	err := os.Mkdir(v.Folder, 0o711)
	if errors.Is(err, fs.ErrExist) {
		// Another program has made it meanwhile: it stays.
		return errors.Join(fmt.Errorf("volume %s: %w", v.Name, err), s.journal.Discard(context.WithoutCancel(ctx), Kind, v.Name))
	}
	if err == nil {
		v.Phase = Filling
		err = s.journal.Keep(ctx, Kind, v.Name, v)
	}
	if err == nil {
		err = data(ctx)
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

// undoFill removes a part of a volume's data, of which no user knows.
func (s *Volumes) undoFill(ctx context.Context, v Volume) error {
	b, err := of(v)
	if err != nil {
		return err
	}
	if err := b.unmount(ctx, v); err != nil {
		return err
	}
	return deleteData(v, v.Folder)
}

// undoMake removes a volume that was not completed.
func (s *Volumes) undoMake(ctx context.Context, v Volume) error {
	err := error(nil)
	if v.Phase == Filling {
		err = s.undoFill(ctx, v)
	} else if err = os.Remove(v.Folder); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.ENOTDIR) {
		err = nil // It was not made yet, or belongs to another program.
	}
	if err != nil {
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
