//go:build !unix

package userfile

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
