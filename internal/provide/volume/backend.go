package volume

import (
	"context"
	"fmt"

	"plimsoll/internal/provide/profile"
)

// A backend makes the data of volumes and mounts it. Each call has the volume's lock. All can be repeated, since a killed
// process may have done a part.
type backend interface {
	// make makes the data in the volume's folder, which exists and is empty.
	make(ctx context.Context, v Volume) error
	// mount makes the data reachable, if it isn't, and returns its root.
	mount(ctx context.Context, v Volume) (Mounted, error)
	// root is where the data is reachable; "" if it isn't mounted.
	root(v Volume) (string, error)
	// unmount is the opposite of mount. The error is a *image.BusyError if programs use the volume.
	unmount(ctx context.Context, v Volume) error
	// release gives back what the kernel has for the volume beside its folder, which is at a path and is about to be deleted.
	release(v Volume, folder string) error
	// elsewhere reports whether another mount namespace, such as a container's, shows the data.
	elsewhere(v Volume) (bool, error)
	// change makes the data obey another profile, mounted or not.
	change(ctx context.Context, old, new Volume) error
	// examine reports what is wrong with the data, without changing anything.
	examine(ctx context.Context, v Volume) error
	// space is that of the volume. It is quick, and so reports only some of what examine does.
	space(v Volume) (Space, error)
	// snapshots are the backend's; nil if it has none.
	snapshots() snapshotter
}

// Mounted is a volume that is reachable.
type Mounted struct {
	// Root is the folder with the data.
	Root string
	// Note says what isn't as it should be; it may be empty.
	Note string
}

// Space is in bytes; zero is unknown.
type Space struct {
	// Size is what the file system offers; Used is what is taken of it. Both are only known of a mounted volume.
	Size int64 `json:"size,omitempty"`
	Used int64 `json:"used,omitempty"`
	// Disk is what the volume takes of its disk.
	Disk int64 `json:"disk"`
}

// backendOf returns the backend of that name.
func backendOf(name string) (backend, error) {
	switch name {
	case "local":
		return local{}, nil
	case "directory":
		return directory{}, nil
	case "nfs":
		return nfs{}, nil
	}
	_, err := profile.BackendNamed(name)
	return nil, err
}

// of is backendOf for a volume that exists.
func of(v Volume) (backend, error) {
	b, err := backendOf(v.Backend)
	if err != nil {
		return nil, fmt.Errorf("volume %s: %w", v.Name, err)
	}
	return b, nil
}
