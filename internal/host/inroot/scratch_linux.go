package inroot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// A file marks a scratch folder, to distinguish it from another program's folder of the same name.
const (
	mark     = ".plimsoll-scratch"
	markText = "This folder is scratch of plimsoll's, and is removed by it.\n"
)

// Mark marks an open folder as Plimsoll's scratch folder.
func Mark(folder *os.File) error {
	fd, err := openat(int(folder.Fd()), mark, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
	if err != nil {
		return &os.PathError{Op: "mark", Path: folder.Name(), Err: err}
	}
	f := os.NewFile(uintptr(fd), mark)
	_, err = f.WriteString(markText)
	return errors.Join(err, f.Close())
}

// Marked reports whether an open folder is Plimsoll's scratch folder, or is empty.
func Marked(folder *os.File) bool {
	fd, err := openat(int(folder.Fd()), mark, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		names, err := within(folder)
		return err == nil && len(names) == 0
	}
	f := os.NewFile(uintptr(fd), mark)
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(len(markText))+1))
	return err == nil && string(b) == markText
}

// Remove removes an open folder with its contents, even if it has been moved. It was made as name in the folder base. Links in it
// are removed, not followed. It is no error if the folder is already gone.
func Remove(folder, base *os.File, name string) error {
	var err error
	// A process that still writes to it may add files meanwhile, and the container that got it may remove files as well.
	for range 3 {
		if gone(folder) {
			return nil
		}
		if err = empty(folder); err == nil {
			err = removeEmpty(folder, base, name)
		}
		if err == nil {
			return nil
		}
	}
	if gone(folder) {
		return nil
	}
	return fmt.Errorf("remove the scratch folder %s: %w", where(folder), err)
}

// gone reports whether an open folder has been removed.
func gone(folder *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(folder.Fd()), &st) == nil && st.Nlink == 0
}

// where returns the present path of an open folder.
func where(folder *os.File) string {
	name, err := os.Readlink(of(folder))
	if err != nil {
		return folder.Name()
	}
	return name
}

// of returns a path that leads to an open file, whatever its present name.
func of(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// within lists the entries of an open folder, from its beginning.
func within(folder *os.File) ([]os.DirEntry, error) {
	f, err := os.Open(of(folder))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// empty removes the contents of an open folder, its mark last: if the process is killed meanwhile, the rest is still
// recognized as scratch.
func empty(folder *os.File) error {
	entries, err := within(folder)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(of(folder))
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range entries {
		if e.Name() == mark {
			continue
		}
		if err := root.RemoveAll(e.Name()); err != nil {
			return err
		}
	}
	return root.RemoveAll(mark)
}

// openat opens a name of an open folder.
func openat(dir int, name string, flags int) (fd int, err error) {
	return eintr.Value(func() (int, error) { return unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0o600) })
}

// removeFolderAt removes an empty folder of an open one.
func removeFolderAt(dir int, name string) error {
	return eintr.Retry(func() error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
}

// removeEmpty removes an open folder that is empty. This call removes empty folders only, so if a process puts another folder in its
// place meanwhile, no data is lost.
func removeEmpty(folder, base *os.File, name string) error {
	var own unix.Stat_t
	if err := unix.Fstat(int(folder.Fd()), &own); err != nil {
		return err
	}
	is := func(dir int, name string) bool {
		var st unix.Stat_t
		err := eintr.Retry(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
		return err == nil && st.Ino == own.Ino && st.Dev == own.Dev
	}
	if is(int(base.Fd()), name) {
		return removeFolderAt(int(base.Fd()), name)
	}
	// The folder was moved; its ".." is its new parent.
	fd, err := openat(int(folder.Fd()), "..", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	parent := os.NewFile(uintptr(fd), "..")
	defer parent.Close()
	entries, err := within(parent)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && is(fd, e.Name()) {
			return removeFolderAt(fd, e.Name())
		}
	}
	return unix.ENOENT
}
