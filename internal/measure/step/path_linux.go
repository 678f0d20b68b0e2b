package step

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// onPath takes a step on a path.
func onPath(c Call, a *Answer) (err error) {
	switch c.Op {
	case Stat:
		a.Stat, err = status(c.Path, c.How != "link")
		return err
	case Chown:
		return os.Lchown(c.Path, c.UID, c.GID)
	case Chmod:
		return unix.Chmod(c.Path, c.Mode)
	case Rename:
		return os.Rename(c.Path, c.To)
	case Remove:
		return os.RemoveAll(c.Path)
	case Link:
		return os.Link(c.Path, c.To)
	case Symlink:
		return os.Symlink(c.To, c.Path)
	case Mkdir:
		return os.Mkdir(c.Path, 0o755)
	case Names:
		a.Names, err = names(c.Path)
		return err
	case SetXattr:
		return eintr.Retry(func() error { return unix.Setxattr(c.Path, c.To, c.Data, 0) })
	case Xattr:
		a.Data = make([]byte, 256)
		n, err := unix.Getxattr(c.Path, c.To, a.Data)
		a.Data = a.Data[:max(n, 0)]
		return err
	case Fallocate:
		f, err := os.OpenFile(c.Path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		return eintr.Retry(func() error { return unix.Fallocate(int(f.Fd()), 0, 0, c.Length) })
	case Clone:
		from, err := os.Open(c.Path)
		if err != nil {
			return err
		}
		defer from.Close()
		to, err := os.Create(c.To)
		if err != nil {
			return err
		}
		defer to.Close()
		return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
	}
	return fmt.Errorf("there is no step %q", c.Op)
}

// names lists a folder.
func names(path string) ([]string, error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// status asks the file system about a path.
func status(path string, follow bool) (*Status, error) {
	var st unix.Stat_t
	call := unix.Lstat
	if follow {
		call = unix.Stat
	}
	if err := call(path, &st); err != nil {
		return nil, err
	}
	return &Status{
		Inode: st.Ino, Mode: st.Mode, UID: st.Uid, GID: st.Gid, Links: uint64(st.Nlink), //nolint:unconvert // 32 bits on arm64.
		Size: st.Size, Allocated: st.Blocks * 512, MTime: st.Mtim.Nano(),
	}, nil
}
