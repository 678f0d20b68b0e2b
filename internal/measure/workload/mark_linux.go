package workload

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// markName is an extended attribute of files whose data Plimsoll wrote.
const markName = "user.plimsoll"

// setMark writes the mark, and reports whether the file system has such attributes.
func setMark(f *os.File, state string) bool {
	err := eintr.Retry(func() error { return unix.Fsetxattr(int(f.Fd()), markName, []byte(state), 0) })
	return !errors.Is(err, unix.ENOTSUP)
}

// getMark reads the mark, "" if there is none, and reports whether the file system has such attributes.
func getMark(f *os.File) (state string, can bool) {
	var p [128]byte
	n, err := eintr.Value(func() (int, error) { return unix.Fgetxattr(int(f.Fd()), markName, p[:]) })
	if err != nil {
		return "", !errors.Is(err, unix.ENOTSUP)
	}
	return string(p[:n]), true
}

// age sets a file's modification time.
func age(f *os.File, to time.Time) error {
	tv := []unix.Timeval{unix.NsecToTimeval(to.UnixNano()), unix.NsecToTimeval(to.UnixNano())}
	return eintr.Retry(func() error { return unix.Futimes(int(f.Fd()), tv) })
}

// stateText is the length of a file and when it was written.
func stateText(st os.FileInfo) string {
	return fmt.Sprintf("%d %d.%09d", st.Size(), st.ModTime().Unix(), st.ModTime().Nanosecond())
}

// changeTime is when a file's data or metadata was changed last.
func changeTime(st os.FileInfo) int64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano()
	}
	return math.MaxInt64
}
