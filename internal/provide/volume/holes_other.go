//go:build !linux

package volume

import (
	"context"
	"errors"
	"os"
)

func ownerText(os.FileInfo) string { return "" }

func setOwner(string, string) error { return errors.ErrUnsupported }

func digHoles(context.Context, string) error { return errors.ErrUnsupported }
