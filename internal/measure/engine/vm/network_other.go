//go:build !linux

package vm

import (
	"errors"
	"net/netip"
	"os"
)

// Only Linux has network namespaces and handles of files.

func inOwnNetwork(func() (<-chan struct{}, error)) error { return errors.ErrUnsupported }

func awaitServer(netip.AddrPort, func() error) (*os.File, error) { return nil, errors.ErrUnsupported }

func handleFault(string) error { return errors.ErrUnsupported }
