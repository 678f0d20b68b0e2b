// Package daemon is plimsoll daemon: the one process that applies the limits of a policy to containers (keeper),
// measures their I/O between two requests (watch), and answers on a socket in its folder.
//
// Easily got wrong: a clean-up may remove the socket, or the keeper's lock, while the daemon runs, and another daemon
// may then claim the folder. The socket is created again only while the folder is still the keeper's.
package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/limit/keeper"
)

// A Daemon is a keeper with a socket that answers with its state. Make it with New, and Close it.
type Daemon struct {
	*keeper.Keeper
	opt    keeper.Options
	meter  meter
	socket socket
}

// New makes a daemon and loads its policy. The error wraps keeper.ErrRunning if the folder has a keeper already.
func New(opt keeper.Options) (*Daemon, error) {
	if opt.Poll <= 0 {
		opt.Poll = keeper.DefaultPoll
	}
	k, err := keeper.New(opt)
	if err != nil {
		return nil, err
	}
	d := &Daemon{Keeper: k, opt: opt, meter: meter{holder: opt.Holder, targets: k.Targets}}
	d.socket = socket{path: filepath.Join(opt.Run, Socket), state: d.state}
	return d, nil
}

// Run applies the policy to containers, and answers with the state, until ctx ends. The error is why it can't
// continue.
func (d *Daemon) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	if err := d.socket.listen(ctx); err != nil {
		cancel()
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() { d.keepSocket(ctx) })
	err := d.Keeper.Run(ctx)
	cancel()
	wg.Wait()
	d.socket.close()
	d.meter.close()
	return err
}

// keepSocket creates the socket again if a clean-up removed it.
func (d *Daemon) keepSocket(ctx context.Context) {
	poll := time.NewTicker(d.opt.Poll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		// Without the lock, the socket may be another daemon's.
		if d.socket.there() || !d.Locked() {
			continue
		}
		d.socket.close()
		if err := d.socket.listen(ctx); err != nil {
			if d.socket.missing != err.Error() {
				d.logf("the socket in %s was removed, and can't be created again: %v", d.opt.Run, err)
			}
			d.socket.missing = err.Error()
			continue
		}
		d.socket.missing = ""
		d.logf("the socket in %s was removed, and has been created again", d.opt.Run)
	}
}

// state is the daemon's present state.
func (d *Daemon) state(ctx context.Context) Status {
	usage, err := d.meter.usage(ctx, statusTimeout/2)
	s := Status{Status: d.Status(), Usage: usage}
	if err != nil {
		s.UsageError = err.Error()
	}
	return s
}

func (d *Daemon) logf(format string, args ...any) {
	if d.opt.Log != nil {
		d.opt.Log(fmt.Sprintf(format, args...))
	}
}
