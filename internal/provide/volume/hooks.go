package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"plimsoll/internal/text/lastbytes"
)

// HookTimeout is how long a hook may run if its Hooks say nothing.
const HookTimeout = time.Minute

// Hooks are commands of the shell that run before and after each snapshot, so that a program can bring its data in order.
type Hooks struct {
	// Before stops the snapshot if it fails. After runs in any case.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Timeout is that of each; 0: HookTimeout.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// around calls f between the hooks.
func (h Hooks) around(ctx context.Context, name string, f func() error) (err error) {
	defer func() {
		if bad := h.run(context.WithoutCancel(ctx), name, "after", h.After); bad != nil {
			err = errors.Join(err, bad)
		}
	}()
	if err := h.run(ctx, name, "before", h.Before); err != nil {
		return fmt.Errorf("no snapshot was taken: %w", err)
	}
	return f()
}

// run runs a hook. It gets the volume's name, and its output is only shown if it fails.
func (h Hooks) run(ctx context.Context, name, which, command string) error {
	if command == "" {
		return nil
	}
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = HookTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Env = append(os.Environ(), "PLIMSOLL_VOLUME="+name, "PLIMSOLL_HOOK="+which)
	group(c)
	// A process that it leaves behind may keep its output open.
	c.WaitDelay = time.Second
	out := &lastbytes.Buffer{Max: 4096}
	c.Stdout, c.Stderr = out, out
	err := c.Run()
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("it was ended after %v", timeout)
	}
	if err != nil {
		return fmt.Errorf("the hook %s the snapshot of volume %s: %w%s", which, name, err, prefixed(": ", lastbytes.LastWords(out.String())))
	}
	return nil
}

// prefixed puts a prefix before a text that isn't empty.
func prefixed(prefix, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return prefix + text
}

// SetHooks changes the hooks of a volume.
func (s *Volumes) SetHooks(ctx context.Context, name string, h Hooks) error {
	return s.existing(ctx, name, func(v Volume) error {
		v.Hooks = h
		return s.keep(ctx, v)
	})
}
