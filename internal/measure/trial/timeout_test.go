package trial

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimeout: the limit is for all that is before the end of the last window, and after it for each time
// in which nothing is written back.
func TestTimeout(t *testing.T) {
	const limit = time.Minute
	type step struct {
		after  time.Duration
		client int
		left   int64 // noWrites: the client's result is there
	}
	const noWrites = -2
	for name, row := range map[string]struct {
		clients int
		steps   []step
		ends    time.Duration // 0: a minute after the last step
		want    string
	}{
		"nothing is heard": {1, nil, limit, "did not end within its timeout of 1m0s"},
		"slow disk": {1, []step{{50 * time.Second, 0, 900}, {50 * time.Second, 0, 800}, {50 * time.Second, 0, 700}, {59 * time.Second, 0, 0}},
			0, "made no progress within the timeout of 1m0s"},
		"dead disk": {1, []step{{50 * time.Second, 0, 900}, {30 * time.Second, 0, 900}, {20 * time.Second, 0, 950}},
			110 * time.Second, "made no progress"},
		"unknown":                {1, []step{{50 * time.Second, 0, -1}, {30 * time.Second, 0, -1}}, 110 * time.Second, "made no progress"},
		"another still measures": {2, []step{{30 * time.Second, 0, 900}, {20 * time.Second, 0, 800}}, limit, "did not end"},
		"another is done": {2, []step{{30 * time.Second, 0, noWrites}, {20 * time.Second, 1, 800}, {50 * time.Second, 1, 700}},
			160 * time.Second, "made no progress"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				ctx, o := withTimeout(t.Context(), limit, row.clients)
				defer o.stop()
				for _, s := range row.steps {
					select {
					case <-ctx.Done():
						t.Fatalf("it ended after %v: %v", time.Since(begin), context.Cause(ctx))
					case <-time.After(s.after):
					}
					if s.left == noWrites {
						o.measured(s.client)
					} else {
						o.settling(s.client, s.left)
					}
				}
				last := time.Since(begin)
				<-ctx.Done()
				if row.ends == 0 {
					row.ends = last + limit
				}
				if got := time.Since(begin); got != row.ends || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) || !strings.Contains(context.Cause(ctx).Error(), row.want) {
					t.Errorf("it ended after %v: %v, want %v, %q", got, context.Cause(ctx), row.ends, row.want)
				}
			})
		})
	}
}

// TestTimeoutExplains: what a daemon's client makes of the end of its context is a timeout as well, and nothing else is.
func TestTimeoutExplains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, o := withTimeout(t.Context(), time.Minute, 1)
		defer o.stop()
		own := errors.New("no such image")
		if err := o.explain(ctx, own); err != own {
			t.Errorf("explain() = %v before the timeout", err)
		}
		<-ctx.Done()
		if err := o.explain(ctx, ctx.Err()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "timeout of 1m0s") {
			t.Errorf("explain() = %v, want the timeout", err)
		}
		if err := o.explain(ctx, nil); err != nil {
			t.Errorf("explain(nil) = %v", err)
		}
	})
}
