package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// A timeout ends a trial that takes too long: opening its containers, the layout and the measured window share one limit.
// Buffered writes may then take far longer to reach a slow disk, but the figure is good. So after the last client's window
// the trial is ended only if the bytes left to write back don't decrease for the same time.
type timeout struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// window holds the clients whose window is over, of clients in all.
	window  map[int]bool
	clients int
	// least is the fewest bytes that were left to be written back.
	least int64
}

// withTimeout returns a context that ends after limit with a timeoutError as its cause, and its timeout, which extends it
// on progress and has to be stopped.
func withTimeout(ctx context.Context, limit time.Duration, clients int) (context.Context, *timeout) {
	ctx, cancel := context.WithCancelCause(ctx)
	o := &timeout{limit: limit, cancel: cancel, window: map[int]bool{}, clients: clients, least: math.MaxInt64}
	o.timer = time.AfterFunc(limit, func() { cancel(timeoutError{limit, o.over()}) })
	return ctx, o
}

// over reports whether the windows of all clients are over.
func (o *timeout) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.window) == o.clients
}

// measured notes that a client's window is over. On a nil timeout it does nothing.
func (o *timeout) measured(client int) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.window[client] {
		return
	}
	if o.window[client] = true; len(o.window) == o.clients {
		o.timer.Reset(o.limit)
	}
}

// settling notes that a client waits for its buffered writes, with left bytes still to be written back on its machine; -1
// is unknown.
func (o *timeout) settling(client int, left int64) {
	if o == nil {
		return
	}
	o.measured(client)
	o.mu.Lock()
	defer o.mu.Unlock()
	if left < 0 || left >= o.least {
		return
	}
	o.least = left
	if len(o.window) == o.clients {
		o.timer.Reset(o.limit)
	}
}

// stop ends the context and frees its resources.
func (o *timeout) stop() {
	o.timer.Stop()
	o.cancel(nil)
}

// explain adds the timeout to an error that it caused: a daemon's client reports only that its context was cancelled.
func (o *timeout) explain(ctx context.Context, err error) error {
	var late timeoutError
	if err == nil || errors.Is(err, context.DeadlineExceeded) || !errors.As(context.Cause(ctx), &late) {
		return err
	}
	return fmt.Errorf("%w: %w", late, err)
}

// A timeoutError is the cause of a trial's context after its timeout.
type timeoutError struct {
	after time.Duration
	// settling is set if the windows were over.
	settling bool
}

// Error implements error.
func (e timeoutError) Error() string {
	if e.settling {
		return fmt.Sprintf("its buffered writes made no progress within the timeout of %v", e.after)
	}
	return fmt.Sprintf("the cell did not end within its timeout of %v", e.after)
}

// Is makes it a deadline for errors.Is.
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
