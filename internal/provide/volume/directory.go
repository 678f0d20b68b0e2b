package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// directory keeps a volume in a folder of the machine's file system. It is always mounted.
type directory struct{}

// data is the folder with the content.
func (directory) data(v Volume) string { return filepath.Join(v.Folder, "data") }

func (d directory) make(_ context.Context, v Volume) error {
	err := os.Mkdir(d.data(v), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (d directory) mount(_ context.Context, v Volume) (Mounted, error) {
	root, err := d.root(v)
	return Mounted{Root: root}, err
}

func (d directory) root(v Volume) (string, error) {
	st, err := os.Lstat(d.data(v))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the folder %s is missing: it is not made again; restore it, or remove the volume", d.data(v))
	case err != nil:
		return "", err
	case !st.IsDir():
		return "", fmt.Errorf("%s is no folder: restore it, or remove the volume", d.data(v))
	}
	return d.data(v), nil
}

func (directory) unmount(context.Context, Volume) error { return nil }

func (directory) change(_ context.Context, _, _ Volume) error { return nil }

func (directory) space(Volume) (Space, error) { return Space{}, nil }

func (directory) snapshots() snapshotter { return nil }
