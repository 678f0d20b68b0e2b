//go:build !linux

package profile

import "errors"

func hostFilesystem(string) error { return errors.ErrUnsupported }
func hostNFS() error              { return errors.ErrUnsupported }
func hostLoop() error             { return errors.ErrUnsupported }
func hostEncryption() error       { return errors.ErrUnsupported }
func hostQuota(string) error      { return errors.ErrUnsupported }
func hostReflinks(string) error   { return errors.ErrUnsupported }

func hostLimits() (int, error) { return 0, errors.ErrUnsupported }
