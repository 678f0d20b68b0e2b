package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/wire"
)

// goOnPatience is how long a resumed machine may take to answer; on a quiet computer it needs a second. Giving up too early
// costs a boot, which takes longer still.
const goOnPatience = 30 * time.Second

// goOn resumes a machine that was launched from a saved one.
func (s *session) goOn(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, goOnPatience, fmt.Errorf("the saved machine gave no answer within %v", goOnPatience))
	defer cancel()
	if err := s.monitor.goOn(ctx); err != nil {
		return err
	}
	return s.setUp(ctx)
}

// unsaved kills a machine that failed to resume, and reports whether to boot one instead: not if the guest gave up, a
// daemon of its shares ended, or the caller did.
func (s *session) unsaved(ctx context.Context) bool {
	if ctx.Err() != nil || s.orphan.Load() != nil {
		return false
	}
	s.Kill()
	<-s.Waited
	var ee *exec.ExitError
	return !errors.As(s.WaitErr, &ee) || ee.ExitCode() <= 2*wire.ExitBase
}

// again makes the session's devices anew for another start. The daemons of its shares end with the machine: each serves one
// connection.
func (s *session) again(ctx context.Context, spec engine.Spec) error {
	s.stop(ctx)
	s.Process, s.monitor, s.places = nil, nil, nil
	if s.limits != nil {
		if err := engine.RemoveGroups(engine.FolderPrefix + s.id); err != nil {
			return err
		}
		s.limits = nil
	}
	for _, dir := range s.own {
		if _, err := engine.RemoveOwn(dir, s.id); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return engine.StateFault(s.vm.State, err)
	}
	return s.vm.equip(ctx, s, spec)
}
