//go:build !linux

package keeper

import (
	"context"

	"plimsoll/internal/host/device"
)

// A groupWatch watches nothing where there are no control groups.
type groupWatch struct{}

func newGroupWatch(*Keeper) *groupWatch { return &groupWatch{} }
func (*groupWatch) add(*entry) bool     { return false }
func (*groupWatch) remove(*entry)       {}
func (*groupWatch) close()              {}

// diskEvents reports nothing.
func diskEvents(context.Context) <-chan map[device.Number]bool { return nil }
