package row

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/limit"
)

// watchEvery is the interval at which the kernel's limit is read while a row is measured: twice per slice of the
// limiter.
const watchEvery = 50 * time.Millisecond

// watch follows the kernel's limit of a row, and the groups of the target's processes. The function that it returns
// stops it, and returns the values that the limit was changed to, each once.
func (r Request) watch(key limit.Key, mode Mode) func() []int64 {
	if r.Changed == nil {
		return func() []int64 { return nil }
	}
	var values []int64
	look := func() {
		if now, changed := r.Changed(key, mode); changed && !slices.Contains(values, now) {
			values = append(values, now)
		}
		if r.Look != nil {
			r.Look()
		}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			look()
			select {
			case <-tick.C:
			case <-stop:
				look()
				return
			}
		}
	}()
	return func() []int64 {
		close(stop)
		<-done
		return values
	}
}

// ChangedWords says what the limit was changed to while the row was measured.
func (r Row) ChangedWords() string {
	var to []string
	for _, v := range r.Changed {
		if v == 0 {
			to = append(to, "none")
			continue
		}
		to = append(to, r.Rate(float64(v)))
	}
	return "another program changed the limit while it was measured, to " + strings.Join(to, ", then ")
}
