package vm

import (
	"context"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// A Share is one way in which machines of the engine vm get a folder of this machine.
type Share struct {
	// Name is its word in plans: 9p, virtiofs, smb, nfs.
	Name string
	// Missing reports what keeps it from being had here, and Fix what would mend it; both are empty if nothing does.
	Missing, Fix string
}

// Shares lists the ways of an engine that starts virtual machines, whichever of them it would use itself; none of another engine, and of one
// that can't start any.
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

// canShare reports why folders can't be shared in a way, nil if they can: what the guest's kernel lacks, or which server.
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
