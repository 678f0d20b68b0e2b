package oci

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/text/lastbytes"
)

// runtimeFix says what to do if no runtime works.
func (o *Engine) runtimeFix() string {
	for _, name := range runtimeNames {
		if _, err := o.lookPath(name); err != nil {
			return "install runc or crun ('apt-get install runc')"
		}
	}
	return "fix that; in a container, runtimes need writable control groups and the right to make mounts"
}

// runtime returns the runtime to use: the one asked for, or the first that ran a container. Only success is remembered. The
// error is an errBroken if one is installed but none works.
func (o *Engine) runtime(ctx context.Context, want string) (*installedRuntime, []string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rt := o.chosen[want]; rt != nil {
		return rt, o.notes, nil
	}
	names := runtimeNames
	if want != "" {
		names = []string{want}
	}
	var notes, tried []string
	broken := false
	for _, name := range names {
		path, err := o.lookPath(name)
		if err != nil {
			tried = append(tried, name+" is not installed")
			continue
		}
		real, err := engine.TrustedProgram(path)
		if err != nil {
			why := fmt.Sprintf("the runtime %s can't be used: %v", name, err)
			notes, tried = append(notes, why), append(tried, why)
			continue
		}
		rt := &installedRuntime{path: real, root: filepath.Join(o.state, "oci", "state")}
		if err := o.tryOnce(ctx, rt, filepath.Base(name)); err != nil {
			broken = true
			why := fmt.Sprintf("%s is installed but can't run a container here: %s", rt.version, engine.FirstLine(err.Error()))
			notes, tried = append(notes, why), append(tried, why)
			continue
		}
		if o.chosen == nil {
			o.chosen = map[string]*installedRuntime{}
		}
		o.chosen[want] = rt
		if want == "" {
			o.notes = notes
		}
		return rt, notes, nil
	}
	err := errors.New(strings.Join(tried, "; "))
	if broken {
		err = &brokenError{err}
	}
	return nil, notes, err
}

// errBroken reports that runtimes are installed, but none can run a container.
var errBroken = errors.New("no installed runtime works")

// A brokenError is an errBroken that says why each installed runtime fails.
type brokenError struct{ error }

// Is makes it an errBroken for errors.Is, without repeating its words.
func (*brokenError) Is(target error) bool { return target == errBroken }

// tryTimeout is how long a runtime may take to say its version and run a container.
const tryTimeout = 30 * time.Second

// A hungError reports that a runtime did not answer within this time.
type hungError time.Duration

func (e hungError) Error() string { return fmt.Sprintf("it did not end within %v", time.Duration(e)) }

// tryOnce finds out the version of rt, which is called name, and whether it runs a container. A runtime that hung is not
// tried again: each cell of a plan would wait for it.
func (o *Engine) tryOnce(ctx context.Context, rt *installedRuntime, name string) error {
	if o.hung[rt.path] {
		rt.version = name
		return hungError(o.tryTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, o.tryTimeout)
	defer cancel()
	began := time.Now()
	var err error
	if rt.version, err = versionOf(ctx, rt.path, name); err == nil {
		err = o.try(ctx, rt)
	}
	// The context of the session being opened may end a moment before this one.
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && time.Since(began) > o.tryTimeout/2 {
		if o.hung == nil {
			o.hung = map[string]bool{}
		}
		o.hung[rt.path] = true
		return hungError(o.tryTimeout)
	}
	return err
}

// try runs the smallest container: the worker prints its name and ends, before ctx does. A program that succeeds but is no
// runtime prints something else.
func (o *Engine) try(ctx context.Context, rt *installedRuntime) error {
	program, err := o.worker.Source(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := "probe-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	s, err := o.open(ctx, rt, engine.Spec{ID: id, Place: place.Spec{Name: "layer", Kind: place.Layer}}, []string{"version"})
	if err != nil {
		return err
	}
	said, state := firstWords(ctx, s.Stdout()), ""
	if said == "" || said == wire.Identity(program) {
		state = s.Process.State(ctx)
	}
	hung := context.Cause(ctx) // Too late, or interrupted.
	// There is no data to wait for: what still runs is killed.
	cancel()
	if err := s.Close(ctx); err != nil {
		return err
	}
	switch {
	case said != "" && said != wire.Identity(program):
		return fmt.Errorf("it did not run Plimsoll's worker, but something that printed %.80q", said)
	case hung != nil:
		return hung
	case state != "exit status 0":
		return errors.New(strings.TrimSpace(lastbytes.LastWords(s.Log()) + " (" + state + ")"))
	case said == "":
		return errors.New("it did not run Plimsoll's worker: nothing was printed")
	}
	return nil
}

// firstWords reads the first line of r, or enough of it, and discards the rest. It gives up when ctx is over.
func firstWords(ctx context.Context, r io.Reader) string {
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReaderSize(r, 256).ReadSlice('\n')
		said <- strings.TrimSpace(string(line))
		io.Copy(io.Discard, r)
	}()
	select {
	case s := <-said:
		return s
	case <-ctx.Done():
		return ""
	}
}

var _ engine.GoneChecker = (*Engine)(nil)

// Gone implements engine.GoneChecker: the runtime has to run the smallest container again. A runtime that was uninstalled,
// or may no longer make control groups, would fail every cell. Gone doesn't check for a full state folder: the failed cell
// may have filled it, and its data is removed with its container.
func (o *Engine) Gone(ctx context.Context, spec engine.Spec) error {
	o.mu.Lock()
	rt := o.chosen[spec.Runtime]
	o.mu.Unlock()
	if rt == nil {
		return nil
	}
	if err := o.worker.Gone(o.state); err != nil {
		return err
	}
	if _, err := engine.TrustedProgram(rt.path); err != nil {
		return fmt.Errorf("the runtime %s, which ran containers before, can't be run any more: %w", rt.path, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.tryTimeout, hungError(o.tryTimeout))
	defer cancel()
	err := o.try(ctx, rt)
	var full *engine.StateFullError
	if err == nil || errors.As(err, &full) {
		return nil
	}
	return fmt.Errorf("the runtime %s runs no container any more: %w", rt.path, err)
}
