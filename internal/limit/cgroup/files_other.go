//go:build !linux

package cgroup

import "errors"

// kernel has no control files on other systems. Open refuses before it is used.
type kernel struct{}

func (kernel) read(string, []byte) ([]byte, error) { return nil, errors.ErrUnsupported }
func (kernel) write(string, string) error          { return errors.ErrUnsupported }
func (kernel) groups(string) ([]string, error)     { return nil, errors.ErrUnsupported }
