package filesystem

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// A Tree is a mount of a file system that is attached to no folder. Close must be called once.
type Tree struct {
	// File is the root folder.
	*os.File
	// mount is the descriptor of the mount, with O_PATH. Its end detaches the mount, unless it is attached to a folder.
	mount *os.File
	kind  Kind
}

// Open mounts the file system of a device. An option is a flag, or "key=value", as for mount(8). If the device is mounted already,
// the Tree shows that file system, whose options don't change.
func Open(device string, kind Kind, options ...string) (*Tree, error) {
	fd, err := unix.Fsopen(string(kind), unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.ENODEV) {
		return nil, fmt.Errorf("mount %s: the kernel has no %s: load its module, or choose another file system", device, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", device, err)
	}
	defer unix.Close(fd)
	if err := configure(fd, append([]string{"source=" + device}, options...)); err != nil {
		return nil, fmt.Errorf("mount %s: %w", device, told(fd, err))
	}
	n, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", device, told(fd, err))
	}
	mount := os.NewFile(uintptr(n), device)
	root, err := eintr.Value(func() (int, error) { return unix.Openat(n, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "open the root of", Path: device, Err: err}, mount.Close())
	}
	return &Tree{os.NewFile(uintptr(root), device), mount, kind}, nil
}

// Close ends the mount, unless it was attached.
func (t *Tree) Close() error { return errors.Join(t.File.Close(), t.mount.Close()) }

func configure(fd int, options []string) error {
	for _, o := range options {
		key, value, has := strings.Cut(o, "=")
		set := func() error { return unix.FsconfigSetFlag(fd, key) }
		if has {
			set = func() error { return unix.FsconfigSetString(fd, key, value) }
		}
		if err := set(); err != nil {
			return fmt.Errorf("option %s: %w", o, err)
		}
	}
	return unix.FsconfigCreate(fd)
}

// told adds to an error what the kernel says in the descriptor of fsopen(2), each message in a line behind "e ", "w " or "i ".
func told(fd int, err error) error {
	b := make([]byte, 4096)
	var said []string
	for {
		n, rerr := eintr.Value(func() (int, error) { return unix.Read(fd, b) })
		if rerr != nil || n <= 0 {
			break
		}
		if s, ok := strings.CutPrefix(string(b[:n]), "e "); ok {
			said = append(said, strings.TrimSpace(s))
		}
	}
	if len(said) == 0 {
		return err
	}
	return fmt.Errorf("%w (the kernel says: %s)", err, strings.Join(said, "; "))
}

// Attach makes the tree visible at a folder. The mount stays when the Tree is closed.
func (t *Tree) Attach(target string, readOnly bool) error {
	if readOnly {
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(int(t.mount.Fd()), "", unix.AT_EMPTY_PATH, &attr); err != nil {
			return fmt.Errorf("make the mount at %s read-only: %w", target, err)
		}
	}
	if err := unix.MoveMount(int(t.mount.Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &os.PathError{Op: "mount on", Path: target, Err: err}
	}
	return nil
}

// Folder opens a folder of the tree's root, which it makes if there is none: for btrfs as a subvolume, if that is wanted. A link of that
// name is an error.
func (t *Tree) Folder(name string, subvolume bool) (*os.File, error) {
	f, err := OpenFolder(t.File, name)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	if t.kind == Btrfs && subvolume {
		err = t.subvolume(name)
	} else {
		err = eintr.Retry(func() error { return unix.Mkdirat(int(t.Fd()), name, 0o755) })
	}
	if err != nil {
		return nil, &os.PathError{Op: "make the folder", Path: name, Err: err}
	}
	if err := flush(t.File); err != nil {
		return nil, err
	}
	return OpenFolder(t.File, name)
}

// OpenFolder opens a folder of an open one. A link of that name is an error.
func OpenFolder(in *os.File, name string) (*os.File, error) {
	fd, err := eintr.Value(func() (int, error) {
		return unix.Openat(int(in.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open in " + in.Name(), Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// flush writes to the device all that was written to the file system of an open file.
func flush(f *os.File) error {
	if err := eintr.Retry(func() error { return unix.Syncfs(int(f.Fd())) }); err != nil {
		return &os.PathError{Op: "syncfs", Path: f.Name(), Err: err}
	}
	return nil
}

// Settle replays the journal of an xfs through its device, beside which the original may be mounted.
func Settle(device *os.File) error {
	t, err := Open(device.Name(), XFS, "nouuid")
	if err != nil {
		return err
	}
	return t.Close()
}
