package load

import "time"

// A deadline bounds a wait that signals interrupt. The kernel's waits take a duration and don't report how much of it
// is left, and Go's monitor interrupts a thread every 10 ms. A wait that restarted with the full duration each time
// would never end.
type deadline struct {
	all time.Duration
	end time.Time // zero if there is no limit
}

// newDeadline starts a wait of d. It reads the clock only if there is something to wait for.
func newDeadline(d time.Duration) deadline {
	if d <= 0 {
		return deadline{all: d}
	}
	return deadline{d, time.Now().Add(d)}
}

// left returns how long the wait may still take: forever without a limit, 0 if it is over.
func (l deadline) left() time.Duration {
	if l.end.IsZero() {
		return l.all
	}
	return max(time.Until(l.end), 0)
}
