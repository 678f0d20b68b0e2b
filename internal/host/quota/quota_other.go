//go:build !linux

package quota

import (
	"errors"
	"os"
)

// Of fails: project quotas need Linux.
func Of(*os.File) (Project, error) { return 0, errors.ErrUnsupported }

// Assign fails: project quotas need Linux.
func Assign(*os.File, Project) error { return errors.ErrUnsupported }

// Get fails: project quotas need Linux.
func Get(*os.File, Project) (Usage, error) { return Usage{}, errors.ErrUnsupported }

// Limit fails: project quotas need Linux.
func Limit(*os.File, Project, int64) error { return errors.ErrUnsupported }

// Free fails: project quotas need Linux.
func Free(*os.File, func(Project) bool) (Project, error) { return 0, errors.ErrUnsupported }
