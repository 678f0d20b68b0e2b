//go:build unix

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// staffGroup may write below /usr/local on Debian, and so is as good as root there
// (Debian Policy 9.1.2).
const staffGroup = 50

// TrustedProgram returns the path of a program with all links followed, and refuses one that
// somebody else than root and the caller could have written or could exchange: it
// is run with the caller's rights, and its name may come from another person's plan.
func TrustedProgram(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	// The path that is run from now on has no link that could be turned elsewhere.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(real)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0 {
		return "", fmt.Errorf("%s is not a program", real)
	}
	if err := OnlyOurs(real, st); err != nil {
		return "", err
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err != nil {
			return "", err
		}
		if err := OnlyOurs(dir, st); err != nil {
			return "", fmt.Errorf("%s can be exchanged: %w", real, err)
		}
		if dir == filepath.Dir(dir) {
			return real, nil
		}
	}
}

// OnlyOurs says who else than root and the caller may write to a file or folder.
func OnlyOurs(path string, st os.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("the owner of %s can't be told", path)
	}
	mode := st.Mode()
	// In a folder such as /tmp everybody may write, but nobody may exchange what is another's.
	sticky := st.IsDir() && mode&os.ModeSticky != 0
	trustedGroup := sys.Gid == 0 || st.IsDir() && sys.Uid == 0 && sys.Gid == staffGroup
	switch {
	case sys.Uid != 0 && int(sys.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d and may be changed by them; chown it to root", path, sys.Uid)
	case mode.Perm()&0o002 != 0 && !sticky:
		return fmt.Errorf("everybody may write to %s; chmod o-w it", path)
	case mode.Perm()&0o020 != 0 && !sticky && !trustedGroup:
		return fmt.Errorf("group %d may write to %s; chmod g-w it", sys.Gid, path)
	}
	return nil
}
