package volume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
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
	// dedupeLook is how often it is looked whether a volume's day is over.
	dedupeLook = 10 * time.Minute
	// sayAgain is how long an error that repeats isn't logged again.
	sayAgain = 10 * time.Minute
	// serviceEvery is how often schedules are looked at: their intervals are minutes.
	serviceEvery = 10 * time.Second
)

// A Server does what volumes need over time. Make it with Serve.
type Server struct {
	volumes *Volumes
	lock    *os.File
	log     func(string)
	// said is when each line was logged last, by the line.
	mu   sync.Mutex
	said map[string]time.Time
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
	v := &Server{volumes: s, lock: lock, log: log, said: map[string]time.Time{}}
	v.say(s.journal.Sweep(ctx, nil)) // It removes half-written records.
	v.say(s.Finish(ctx))
	v.say(s.Reconcile(ctx))
	v.say(s.HoldLimits(ctx, nil))
	return v, nil
}

// Run works until ctx ends.
func (v *Server) Run(ctx context.Context) {
	// Each kind has its own time: a backup may take hours, and a hook of a snapshot minutes.
	var services sync.WaitGroup
	defer services.Wait()
	for _, service := range v.volumes.services() {
		services.Go(func() { v.repeat(ctx, service) })
	}
	expand, reconcile, empty := time.NewTicker(expandEvery), time.NewTicker(reconcileEvery), time.NewTicker(emptyEvery)
	defer expand.Stop()
	defer reconcile.Stop()
	defer empty.Stop()
	deduped := make(chan struct{})
	go func() { defer close(deduped); v.dedupe(ctx) }() // It reads whole volumes.
	defer func() { <-deduped }()
	guarded := make(chan struct{})
	go func() { defer close(guarded); newGuard(v.volumes).run(ctx, v.say) }()
	defer func() { <-guarded }()
	v.sayUnless(ctx, v.volumes.sweep) // Here, since it takes a second for 4,000 volumes, and Docker waits for an answer.
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

// dedupe looks through volumes for equal parts until ctx ends.
func (v *Server) dedupe(ctx context.Context) {
	look := time.NewTicker(dedupeLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			v.say(v.volumes.Dedupe(ctx))
		}
	}
}

// repeat does a service's work whenever it is due, until ctx ends.
func (v *Server) repeat(ctx context.Context, s *service) {
	tick := time.NewTicker(serviceEvery)
	defer tick.Stop()
	for {
		v.say(s.work(ctx, time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Close gives the volumes back.
func (v *Server) Close() error { return filelock.Remove(v.lock) }

// sayUnless logs what a call did and what failed, unless ctx has ended it.
func (v *Server) sayUnless(ctx context.Context, f func(context.Context) ([]string, error)) {
	done, err := f(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	v.say(done, err)
}

// say logs what was done and what failed. An error that comes back every moment is logged once in a while.
func (v *Server) say(done []string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, line := range done {
		v.log(line)
	}
	if err == nil || time.Since(v.said[err.Error()]) < sayAgain {
		return
	}
	maps.DeleteFunc(v.said, func(_ string, at time.Time) bool { return time.Since(at) >= sayAgain })
	v.said[err.Error()] = time.Now()
	v.log(err.Error())
}
