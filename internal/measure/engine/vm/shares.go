package vm

import (
	"context"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// A Share is one way of sharing a folder of this machine with virtual machines.
type Share struct {
	// Name is its name in plans: 9p, virtiofs, smb, nfs.
	Name string
	// Missing says why it can't be used here, and Fix what would help; both are empty if it can.
	Missing, Fix string
}

// Shares lists all ways of sharing of a vm engine. It lists none for another engine, or one that can't start a machine.
func Shares(ctx context.Context, e engine.Engine) []Share {
	v, ok := e.(*Engine)
	if !ok {
		return nil
	}
	base, err := v.prepare(ctx)
	if err != nil {
		return nil
	}
	var list []Share
	for _, name := range shareWays {
		s := Share{Name: name}
		if err := v.canShare(ctx, base, name); err != nil {
			s.Missing, s.Fix = parts(err)
		}
		list = append(list, s)
	}
	return list
}

// canShare returns an error if folders can't be shared in a way: the guest's kernel lacks a module, or a server is missing.
func (v *Engine) canShare(ctx context.Context, base *bootFiles, share string) error {
	_, err := v.modulesOf(base, place.Bind, share)
	if err != nil {
		return err
	}
	switch share {
	case ShareVirtioFS:
		_, err = v.shareDaemon(ctx)
	case ShareSMB:
		_, err = v.smbd()
	case ShareNFS:
		_, err = v.nfsServer()
	}
	return err
}
