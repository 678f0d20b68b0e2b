package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"

	"plimsoll/internal/provide/plugin"
	"plimsoll/internal/provide/volume"
)

// ServeVolumes is the daemon's part for volumes: it answers Docker on a socket and does what volumes need over time, until ctx ends. Mounted volumes stay so. The
// error wraps volume.ErrServed if another daemon does it.
func ServeVolumes(ctx context.Context, volumes *volume.Volumes, socket string, log func(string)) (err error) {
	s, err := volumes.Serve(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	l, err := plugin.Listen(socket)
	if err != nil {
		return err
	}
	log(fmt.Sprintf("daemon %d: volumes at %s", os.Getpid(), l.Addr()))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	worked := make(chan struct{})
	go func() { defer close(worked); s.Run(ctx) }()
	err = (&plugin.Plugin{Volumes: volumes, Log: log}).Serve(ctx, l)
	cancel()
	<-worked
	return err
}
