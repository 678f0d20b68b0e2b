package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Compare reports the first difference between two folders' content: names, kinds, owners, modes, links, attributes, times and bytes.
func Compare(ctx context.Context, a, b string) error {
	files := 0
	err := filepath.WalkDir(a, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(a, path)
		if err != nil || d.Type()&fs.ModeSocket != 0 { // tar packs no sockets: they mean nothing without their program.
			return err
		}
		files++
		if err := compareFile(path, filepath.Join(b, name)); err != nil {
			return fmt.Errorf("the copy of %s differs: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(b, func(path string, _ fs.DirEntry, err error) error {
		if files--; files < 0 && err == nil {
			return fmt.Errorf("the copy has files that its source lacks, such as %s", path)
		}
		return err
	})
}

// A status is what must be the same of two files.
type status struct {
	Mode, UID, GID uint32
	Size           int64
	Device         uint64
	Links          uint64
	Modified       unix.Timespec
}

func statusOf(path string) (s status, err error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return s, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	s = status{Mode: st.Mode, UID: st.Uid, GID: st.Gid, Modified: st.Mtim}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Size, s.Links = st.Size, uint64(st.Nlink) //nolint:unconvert // It is 32 bits on arm64.
	case unix.S_IFCHR, unix.S_IFBLK:
		s.Device = uint64(st.Rdev) //nolint:unconvert // See above.
	}
	return s, nil
}

func compareFile(a, b string) error {
	x, err := statusOf(a)
	if err != nil {
		return err
	}
	y, err := statusOf(b)
	if err != nil {
		return err
	}
	if x != y {
		return fmt.Errorf("%+v became %+v", x, y)
	}
	if p, q := attributes(a), attributes(b); !slices.Equal(p, q) {
		return fmt.Errorf("the attributes %q became %q", p, q)
	}
	switch x.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		p, perr := os.Readlink(a)
		q, qerr := os.Readlink(b)
		if perr != nil || qerr != nil || p != q {
			return errors.Join(perr, qerr, fmt.Errorf("it leads to %q instead of %q", q, p))
		}
	case unix.S_IFREG:
		return compareBytes(a, b)
	}
	return nil
}

// attributes are a file's extended attributes; none where there can be none. SELinux sets its own by path.
func attributes(path string) (list []string) {
	b := make([]byte, 64<<10)
	n, err := unix.Llistxattr(path, b)
	if err != nil {
		return nil
	}
	for name := range strings.SplitSeq(string(b[:n]), "\x00") {
		if name == "" || name == "security.selinux" {
			continue
		}
		v := make([]byte, 64<<10)
		if n, err := unix.Lgetxattr(path, name, v); err == nil {
			list = append(list, name+"="+string(v[:n]))
		}
	}
	slices.Sort(list)
	return list
}

func compareBytes(a, b string) error {
	f, err := os.Open(a)
	if err != nil {
		return err
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		return err
	}
	defer g.Close()
	x, y := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := int64(0); ; {
		n, err := io.ReadFull(f, x)
		m, berr := io.ReadFull(g, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return fmt.Errorf("its bytes from %d on differ", at)
		}
		if at += int64(n); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err = errors.Join(err, berr); err != nil {
			return err
		}
	}
}
