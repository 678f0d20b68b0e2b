package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/state/filelock"
)

// ErrServed says that another daemon serves the volumes of a state folder.
var ErrServed = errors.New("another daemon serves these volumes")

// Intervals of the daemon's work.
const (
	expandEvery    = 10 * time.Second
	reconcileEvery = time.Minute
	emptyEvery     = time.Hour
)

// A Server does what volumes need over time. Make it with Serve.
type Server struct {
	volumes *Volumes
	lock    *os.File
	log     func(string)
}

// Serve claims the volumes for this process and finishes what killed ones left. The error wraps ErrServed if another process has claimed them. Mounts that
// Docker asked for stay.
func (s *Volumes) Serve(ctx context.Context, log func(string)) (*Server, error) {
	if err := relative(s.state); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Folder(), 0o711); err != nil {
		return nil, err
	}
	lock, err := filelock.Take(filepath.Join(s.Folder(), ".daemon"), 0o600)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("%w: stop it, or give this one another --state", ErrServed)
	}
	if err != nil {
		return nil, err
	}
	v := &Server{volumes: s, lock: lock, log: log}
	v.say(s.journal.Sweep(ctx, nil)) // It removes half-written records.
	v.say(s.Finish(ctx))
	v.say(s.Reconcile(ctx))
	return v, nil
}

// Run works until ctx ends.
func (v *Server) Run(ctx context.Context) {
	expand, reconcile, empty := time.NewTicker(expandEvery), time.NewTicker(reconcileEvery), time.NewTicker(emptyEvery)
	defer expand.Stop()
	defer reconcile.Stop()
	defer empty.Stop()
	v.say(v.volumes.sweep(ctx)) // Here, since it takes a second for 4,000 volumes, and Docker waits for an answer.
	for {
		select {
		case <-ctx.Done():
			return
		case <-expand.C:
			v.say(v.volumes.Expand(ctx))
		case <-reconcile.C:
			v.say(v.volumes.Finish(ctx)) // A command may have been killed.
			v.say(v.volumes.Reconcile(ctx))
		case <-empty.C:
			gone, err := v.volumes.Empty(ctx, false)
			var done []string
			for _, r := range gone {
				done = append(done, "removed volume "+r.ID+": its data is deleted")
			}
			v.say(done, err)
		}
	}
}

// Close gives the volumes back.
func (v *Server) Close() error { return filelock.Remove(v.lock) }

// say logs what was done and what failed.
func (v *Server) say(done []string, err error) {
	for _, line := range done {
		v.log(line)
	}
	if err != nil {
		v.log(err.Error())
	}
}
