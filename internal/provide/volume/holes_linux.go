package volume

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// ownerText is a folder's owner and mode: UID:GID:MODE.
func ownerText(st os.FileInfo) string {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d:%o", s.Uid, s.Gid, s.Mode&0o7777)
}

// setOwner gives a folder the owner and mode of a text of ownerText; "" leaves them.
func setOwner(path, text string) error {
	if text == "" {
		return nil
	}
	var uid, gid int
	var mode uint32
	if _, err := fmt.Sscanf(text, "%d:%d:%o", &uid, &gid, &mode); err != nil {
		return fmt.Errorf("owner and mode %.40q: %w", text, err)
	}
	if err := os.Lchown(path, uid, gid); err != nil {
		return err
	}
	return eintr.Retry(func() error { return unix.Chmod(path, mode&0o7777) }) // os.Chmod has other bits for setuid.
}

// hole is the least run of zeros that becomes a hole, in bytes.
const hole = 64 << 10

// digHoles turns long runs of zeros in the files below a folder into holes, as restic does since version 0.15. Nobody else may use the folder.
func digHoles(ctx context.Context, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return digFile(path)
	})
}

func digFile(path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var st unix.Stat_t
	if err := eintr.Retry(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil || st.Size < hole {
		return err
	}
	buffer, zeros := make([]byte, hole), make([]byte, hole)
	dug := false
	for at := int64(0); at < st.Size; at += hole {
		n, err := f.ReadAt(buffer, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !bytes.Equal(buffer[:n], zeros[:n]) || n < hole {
			continue
		}
		err = eintr.Retry(func() error {
			return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, hole)
		})
		if errors.Is(err, unix.EOPNOTSUPP) {
			return nil
		}
		if err != nil {
			return err
		}
		dug = true
	}
	if !dug {
		return nil
	}
	return eintr.Retry(func() error {
		return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
	})
}
