package worker

import (
	"sync"
	"time"
)

// awakeEvery bounds how long a stop of the world is held up.
const awakeEvery = 5 * time.Millisecond

// keepAwake keeps the runtime's monitor from a long sleep until the returned function is called. The monitor sleeps no
// longer than until the next timer, and finds a thread that a stop of the world has overlooked (see Input). On Windows that
// may be the thread that reads the input, which no poller does there, and a thread of the load may wait in a system call on
// any system.
func keepAwake() (stop func()) {
	var mu sync.Mutex
	over := false
	mu.Lock()
	defer mu.Unlock()
	var t *time.Timer
	t = time.AfterFunc(awakeEvery, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			t.Reset(awakeEvery)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		t.Stop()
	}
}
