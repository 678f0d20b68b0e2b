package dockerapi

import (
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// kernel is uname's release.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// socketGroup returns the name of the group that owns a socket, or "".
func socketGroup(socket string) string {
	var st unix.Stat_t
	if socket == "" || unix.Stat(socket, &st) != nil {
		return ""
	}
	g, err := user.LookupGroupId(strconv.FormatUint(uint64(st.Gid), 10))
	if err != nil {
		return ""
	}
	return g.Name
}
