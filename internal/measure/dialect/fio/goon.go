package fio

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// goOnAfter are the errors after which a job with continue_on_error continues, unless ignore_error names others:
// Linux's EIO and EILSEQ.
var goOnAfter = []int{5, 84}

// errorNames are the names that fio knows, by number from 1 on.
var errorNames = strings.Fields("EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV " +
	"ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE")

func setGoOn(j *job, v string) error {
	w, err := oneOf(v, "none", "read", "write", "io", "verify", "all", "0", "1")
	if err != nil {
		return err
	}
	all := w == "all" || w == "1"
	j.goOn = [2]bool{all || w == "read" || w == "io", all || w == "write" || w == "io"}
	j.goOnVerify = all || w == "verify"
	return nil
}

func setIgnored(j *job, v string) error {
	for op, list := range strings.Split(strings.TrimSpace(v), ",") {
		var errnos []int
		for _, name := range strings.Split(list, ":") {
			if name == "" {
				break // As in fio.
			}
			n, err := strconv.Atoi(name)
			if i := slices.Index(errorNames, name); i >= 0 {
				n, err = i+1, nil
			}
			if n = max(n, -n); err != nil || n == 0 || n > 4095 {
				return fmt.Errorf("%q is not an error; give a name from %s, or a number", name, errorNames[0]+" to "+errorNames[len(errorNames)-1])
			}
			errnos = append(errnos, n)
		}
		switch {
		case len(errnos) == 0:
		case op > 1:
			return fmt.Errorf("%q: errors of verification always end the test", v)
		default:
			j.goOn[op], j.ignored[op] = true, errnos
		}
	}
	return nil
}

// errorsOf are the errors of reads (0) or writes (1) after which the job continues.
func (j *job) errorsOf(op int) []int {
	switch {
	case !j.goOn[op]:
		return nil
	case j.ignored[op] != nil:
		return j.ignored[op]
	}
	return goOnAfter
}

// countsErrors reports whether the output shows the number of errors.
func (j *job) countsErrors() bool { return j.goOn[0] || j.goOn[1] || j.goOnVerify }

// errorText is the message for an error number, worded as fio's C library does.
func errorText(errno int) string {
	if errno == 0 {
		return "Success"
	}
	s := syscall.Errno(errno).Error()
	return strings.ToUpper(s[:1]) + s[1:]
}
