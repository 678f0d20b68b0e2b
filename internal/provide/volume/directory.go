package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/host/quota"
)

// directory keeps a volume in a folder of the machine's file system. It is always mounted. Its capacity is a project quota where the file system has them.
type directory struct{}

// dataIn is the folder with the content.
func dataIn(folder string) string { return filepath.Join(folder, "data") }

// data is that of a volume.
func (directory) data(v Volume) string { return dataIn(v.Folder) }

func (d directory) make(_ context.Context, v Volume) error {
	if err := os.Mkdir(dataIn(v.Folder), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.inside(v, v.Folder, func(dir *os.File) error {
		return errors.Join(quota.Assign(dir, v.Project), quota.Limit(dir, v.Project, v.Profile.Capacity))
	})
}

// inside calls f with a volume's content, if it has a project.
func (directory) inside(v Volume, folder string, f func(dir *os.File) error) error {
	if v.Project == 0 {
		return nil
	}
	dir, err := os.Open(dataIn(folder))
	if err != nil {
		return err
	}
	return errors.Join(f(dir), dir.Close())
}

func (d directory) mount(_ context.Context, v Volume) (Mounted, error) {
	root, err := d.root(v)
	return Mounted{Root: root}, err
}

func (directory) root(v Volume) (string, error) {
	data := dataIn(v.Folder)
	st, err := os.Lstat(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the folder %s is missing: it is not made again; restore it, or remove the volume", data)
	case err != nil:
		return "", err
	case !st.IsDir():
		return "", fmt.Errorf("%s is no folder: restore it, or remove the volume", data)
	}
	return data, nil
}

func (directory) unmount(context.Context, Volume) error { return nil }

// release takes the limit from the project: the file system would keep it without files.
func (d directory) release(v Volume, folder string) error {
	err := d.inside(v, folder, func(dir *os.File) error { return quota.Limit(dir, v.Project, 0) })
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, quota.ErrNone) {
		return nil // It is gone, or nothing counts any more.
	}
	return err
}

func (d directory) change(_ context.Context, old, new Volume) error {
	if new.Profile.Capacity == old.Profile.Capacity {
		return nil
	}
	return d.inside(new, new.Folder, func(dir *os.File) error { return quota.Limit(dir, new.Project, new.Profile.Capacity) })
}

func (d directory) space(v Volume) (s Space, err error) {
	err = d.inside(v, v.Folder, func(dir *os.File) error {
		u, err := quota.Get(dir, v.Project)
		s = Space{Size: u.Limit, Used: u.Used, Disk: u.Used}
		return err
	})
	return s, err
}

// counts reports whether the file system is to count what the volume, which is not made yet, holds.
func (s *Volumes) counts(v Volume) bool {
	return v.Backend == "directory" && s.Machine.Quota(filepath.Dir(v.Folder)) == nil
}

// choose gives a volume that is about to be made a project that no other has. The caller is alone with the choice.
func (s *Volumes) choose(v *Volume) error {
	taken := map[quota.Project]bool{}
	all, err := s.all()
	if err != nil {
		return err
	}
	for _, other := range all {
		taken[other.Project] = true
	}
	removed, err := s.Trash()
	if err != nil {
		return err
	}
	for _, other := range removed {
		taken[other.Project] = true
	}
	dir, err := os.Open(filepath.Dir(v.Folder))
	if err != nil {
		return err
	}
	defer dir.Close()
	v.Project, err = quota.Free(dir, func(p quota.Project) bool { return taken[p] })
	return err
}
func (d directory) elsewhere(v Volume) (bool, error) {
	used, err := shownElsewhere(d.data(v))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return used, err
}

func (d directory) examine(_ context.Context, v Volume) error {
	_, err := d.root(v)
	return err
}

func (directory) snapshots() snapshotter { return nil }
