package load

import "time"

// A deadline bounds a wait that signals interrupt. The kernel's waits take a time from
// their start and don't say how much of it is left, and Go's monitor interrupts a thread every
// 10 ms: one that began anew each time would last for ever.
type deadline struct {
	all time.Duration
	end time.Time // zero if there is nothing to count down
}

// newDeadline begins a wait of d. The clock is read only if there is something to wait for.
func newDeadline(d time.Duration) deadline {
	if d <= 0 {
		return deadline{all: d}
	}
	return deadline{d, time.Now().Add(d)}
}

// left is how long the wait may go on: forever if it has no end, 0 if it is over.
func (l deadline) left() time.Duration {
	if l.end.IsZero() {
		return l.all
	}
	return max(time.Until(l.end), 0)
}
