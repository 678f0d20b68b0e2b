// Package daemon is plimsoll daemon: the one process that holds containers to the limits of a policy (keeper), counts what they do between
// two questions (watch), and answers on a socket in its folder.
//
// Easily got wrong: a clean-up may remove the socket, or the keeper's lock, while the daemon runs. Another daemon may take the folder then. The
// socket is made anew only while the folder is still the keeper's.
package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/limit/keeper"
)

// A Daemon is a keeper that can be asked for its state. Make it with New, and Close it.
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
	d := &Daemon{Keeper: k, opt: opt, meter: meter{holder: opt.Holder, kept: k.Kept}}
	d.socket = socket{path: filepath.Join(opt.Run, Socket), state: d.state}
	return d, nil
}

// Run holds containers to the policy, and answers with the state, until ctx is over. The error is why it can't go on.
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

// keepSocket makes the socket anew if a clean-up removed it.
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
				d.logf("the socket in %s was removed, and can't be made anew: %v", d.opt.Run, err)
			}
			d.socket.missing = err.Error()
			continue
		}
		d.socket.missing = ""
		d.logf("the socket in %s was removed, and is there again", d.opt.Run)
	}
}

// state is what the daemon does now.
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
