package keeper

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// A Daemon is a keeper that can be asked for its state. Make it with NewDaemon, and Close it.
type Daemon struct {
	*Keeper
	opt    Options
	meter  meter
	socket socket
}

// NewDaemon makes a daemon and loads its policy. The error wraps ErrRunning if the folder has a keeper already.
func NewDaemon(opt Options) (*Daemon, error) {
	if opt.Poll <= 0 {
		opt.Poll = DefaultPoll
	}
	k, err := New(opt)
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

// keepSocket makes the socket anew if it was removed: whoever tidies up may remove it while it is in use.
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
func (d *Daemon) state(ctx context.Context) State {
	usage, err := d.meter.usage(ctx, statusTimeout/2)
	s := State{Status: d.Status(), Usage: usage}
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
