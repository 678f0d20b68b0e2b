//go:build unix

package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// staffGroup may write below /usr/local on Debian, and so counts as root (Debian Policy 9.1.2).
const staffGroup = 50

// TrustedProgram returns the path of a program with all links followed. It refuses a program that anyone but root and the
// caller could have written or could replace: it runs with the caller's rights, and its name may come from another person's
// plan.
func TrustedProgram(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	// The path that is run has no link that could be redirected later.
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
			return "", fmt.Errorf("%s can be replaced by others: %w", real, err)
		}
		if dir == filepath.Dir(dir) {
			return real, nil
		}
	}
}

// OnlyOurs returns an error if anyone but root and the caller may write to a file or folder.
func OnlyOurs(path string, st os.FileInfo) error {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("the owner of %s is unknown", path)
	}
	mode := st.Mode()
	// In a folder such as /tmp everyone may write, but may not replace others' files.
	sticky := st.IsDir() && mode&os.ModeSticky != 0
	trustedGroup := sys.Gid == 0 || st.IsDir() && sys.Uid == 0 && sys.Gid == staffGroup
	switch {
	case sys.Uid != 0 && int(sys.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d and may be changed by them; chown it to root", path, sys.Uid)
	case mode.Perm()&0o002 != 0 && !sticky:
		return fmt.Errorf("everyone may write to %s; chmod o-w it", path)
	case mode.Perm()&0o020 != 0 && !sticky && !trustedGroup:
		return fmt.Errorf("group %d may write to %s; chmod g-w it", sys.Gid, path)
	}
	return nil
}
