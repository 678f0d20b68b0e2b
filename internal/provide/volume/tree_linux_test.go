package volume

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// furnish fills a folder with all that a copy may lose: owners, modes, links, attributes, times, holes and odd names.
func furnish(t testing.TB, root string) {
	t.Helper()
	write(t, root, "plain", "text\n")
	must(t, os.Mkdir(filepath.Join(root, "dir"), 0o750))
	must(t, os.Mkdir(filepath.Join(root, "empty"), 0o1777))
	must(t, os.Chmod(filepath.Join(root, "empty"), 0o777|os.ModeSticky))
	write(t, root, "dir/a b\nc\xff", "odd name")
	must(t, os.Link(filepath.Join(root, "plain"), filepath.Join(root, "dir", "hard")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(root, "absolute")))
	must(t, os.Symlink("../plain", filepath.Join(root, "dir", "relative")))
	must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	must(t, unix.Setxattr(filepath.Join(root, "plain"), "user.note", []byte("an attribute"), 0))
	must(t, unix.Setxattr(filepath.Join(root, "plain"), "trusted.note", []byte{0, 1, 2}, 0))
	write(t, root, "setuid", "#!/bin/sh\n")
	must(t, unix.Chmod(filepath.Join(root, "setuid"), 0o4755))
	must(t, os.Lchown(filepath.Join(root, "dir"), 1234, 4321))
	must(t, os.Lchown(filepath.Join(root, "absolute"), 1234, 4321))
	sparse, err := os.Create(filepath.Join(root, "sparse"))
	must(t, err)
	_, err = sparse.WriteAt([]byte("end"), 24<<20)
	must(t, err)
	must(t, sparse.Close())
	write(t, root, "big", strings.Repeat("0123456789abcdef", 200_000))
	must(t, unix.Chmod(root, 0o1770))
	must(t, os.Lchown(root, 999, 999))
}

// tree describes all files below a folder: each copy must be described alike. Large holes are named, small ones are the file system's own affair.
func tree(t testing.TB, root string) string {
	t.Helper()
	var lines []string
	inodes := map[uint64]string{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		line := fmt.Sprintf("%q mode %o owner %d:%d", name, st.Mode, st.Uid, st.Gid)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			if first, ok := inodes[st.Ino]; ok {
				line += " is " + first
			}
			inodes[st.Ino] = name
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			h := sha256.New()
			n, err := io.Copy(h, f)
			f.Close()
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" size %d sha256 %x links %d mtime %d.%d hole %v", n, h.Sum(nil), st.Nlink, st.Mtim.Sec, st.Mtim.Nsec, n-st.Blocks*512 > 8<<20)
		case unix.S_IFLNK:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + to
		}
		for _, a := range []string{"user.note", "trusted.note"} {
			b := make([]byte, 100)
			if n, err := unix.Lgetxattr(path, a, b); err == nil {
				line += fmt.Sprintf(" %s=%q", a, b[:n])
			}
		}
		lines = append(lines, line)
		return nil
	}))
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// same compares two trees.
func same(t testing.TB, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}
