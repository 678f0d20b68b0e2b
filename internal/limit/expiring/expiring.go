// Package expiring is a cache whose answers expire after a moment, for many callers with the same question.
//
// A rule for a device looks up that device for each container. When a thousand containers start at once, a keeper would spend
// a third of its time on the same lookup. The cache hides nothing: within such a short time, two lookups could not distinguish
// a disk that was removed and added again from one that stayed, either.
package expiring

import (
	"sync"
	"time"
)

// For is how long an answer is kept.
const For = 100 * time.Millisecond

// Answers caches answers by their questions, of type K. The zero value is ready for use and safe for concurrent use.
type Answers[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]*answer[V]
}

type answer[V any] struct {
	mu sync.Mutex
	// at is the time of the lookup, zero if there was none.
	at time.Time
	v  V
}

// Of returns look's result, or a recent one for the same question. Callers share the result and must not change it.
// Errors aren't kept.
func (a *Answers[K, V]) Of(question K, look func() (V, error)) (V, error) {
	a.mu.Lock()
	if a.known == nil {
		a.known = map[K]*answer[V]{}
	}
	k := a.known[question]
	if k == nil {
		k = &answer[V]{}
		a.known[question] = k
	}
	a.mu.Unlock()
	// One caller looks, and concurrent callers wait for it.
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.at) < For {
		return k.v, nil
	}
	at := time.Now()
	v, err := look()
	if err != nil {
		at = time.Time{}
	}
	k.at, k.v = at, v
	return v, err
}

// Forget drops all answers. The answer of a lookup in progress is not kept.
func (a *Answers[K, V]) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.known)
}
