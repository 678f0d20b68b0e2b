package engine

import "context"

// A GoneChecker is an engine that depends on something that may end while it is used, such as a daemon.
type GoneChecker interface {
	// Gone returns nil if the engine can still open sessions like spec's, and otherwise why it can't. An engine that never
	// worked is not gone. Call it after a failure; it answers within some seconds.
	Gone(ctx context.Context, spec Spec) error
}
