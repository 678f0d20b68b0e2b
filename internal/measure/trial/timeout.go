package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// A timeout ends a trial that takes too long: its containers, its layout and its measured window have a limit
// together. What was buffered in the window may then take far longer to reach a slow disk, and the figure is
// good all the same: after the last client's window the trial is ended only when the bytes that are to
// be written back don't get fewer for the same time.
type timeout struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// window holds the clients whose window is over, of so many.
	window  map[int]bool
	clients int
	// least is the fewest bytes that were left to be written back.
	least int64
}

// withTimeout returns a context that ends after limit with a timeoutError as its cause, unless its timeout, which has to
// be stopped, is told of progress.
func withTimeout(ctx context.Context, limit time.Duration, clients int) (context.Context, *timeout) {
	ctx, cancel := context.WithCancelCause(ctx)
	o := &timeout{limit: limit, cancel: cancel, window: map[int]bool{}, clients: clients, least: math.MaxInt64}
	o.timer = time.AfterFunc(limit, func() { cancel(timeoutError{limit, o.over()}) })
	return ctx, o
}

// over reports whether the windows of all clients are.
func (o *timeout) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.window) == o.clients
}

// measured notes that a client's window is over. Without a timeout it does nothing.
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

// settling notes that a client waits for its buffered writes, while left bytes are to be written back
// on its machine; -1: unknown.
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

// stop ends the context and frees what it holds.
func (o *timeout) stop() {
	o.timer.Stop()
	o.cancel(nil)
}

// explain makes sure that an error which came of the timeout says so: a daemon's client knows of contexts that are
// cancelled alone.
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
	// settling: the window was over.
	settling bool
}

// Error implements error.
func (e timeoutError) Error() string {
	if e.settling {
		return fmt.Sprintf("its buffered writes made no way to the storage within the timeout of %v", e.after)
	}
	return fmt.Sprintf("the cell did not end within its timeout of %v", e.after)
}

// Is makes it a deadline for errors.Is.
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }
