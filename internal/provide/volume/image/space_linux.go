package image

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/luks"
)

// Usage returns the space of a mounted volume. Its size is less than the capacity by the file system's own needs.
func Usage(target string) (s filesystem.Space, err error) {
	err = at(target, func(f *os.File) error {
		s, err = filesystem.SpaceOf(f)
		return err
	})
	return s, err
}

// Trim returns the blocks that a mounted volume doesn't use to the disk of its image, and reports how many bytes the file system
// passed on. A thick image would become thin.
func Trim(target string) (n int64, err error) {
	err = at(target, func(f *os.File) error {
		n, err = filesystem.Trim(f)
		return err
	})
	return n, err
}

// Freeze holds the writes to a mounted volume until thaw is called, or this process has ended.
func Freeze(target string) (thaw func() error, err error) {
	f, err := folder(target)
	if err != nil {
		return nil, err
	}
	thawing, err := filesystem.Freeze(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() error {
		defer f.Close()
		return thawing()
	}, nil
}

// Thaw ends a Freeze of any process, such as one that was killed together with its guard. A volume that isn't frozen stays as it is.
func Thaw(target string) error { return at(target, filesystem.Thaw) }

// at opens the root of a mounted file system.
func at(target string, do func(f *os.File) error) error {
	f, err := folder(target)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}

// folder opens the folder of a mounted volume. Another folder's file system is the host's own, which must not be frozen or trimmed.
func folder(target string) (*os.File, error) {
	m, err := mountedAt(target)
	if err != nil {
		return nil, err
	}
	if m == nil || !strings.HasPrefix(m.Source, "/dev/loop") && luks.NameOf(m.Source) == "" {
		return nil, fmt.Errorf("no volume's image is mounted on %s: mount it first", target)
	}
	f, err := os.OpenFile(target, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Statx_t
	err = eintr.Retry(func() error { return unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &st) })
	if err != nil || st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return nil, errors.Join(fmt.Errorf("the volume was unmounted from %s meanwhile", target), err, f.Close())
	}
	return f, nil
}
