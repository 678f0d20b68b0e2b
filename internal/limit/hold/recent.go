package hold

import (
	"sync"
	"time"

	"plimsoll/internal/device"
	"plimsoll/internal/limit/explain"
)

// recentFor is how long what a device was found to be is taken for what it is. A rule for one device asks for each container, and
// when a thousand of them start at once, a third of a keeper's time would go into the same answer. Whoever looks twice
// in this time could not tell a disk that came back from one that stayed, either.
const recentFor = 100 * time.Millisecond

// A recent keeps what devices were found to be, for recentFor. Its zero value is ready for use, by several at once.
type recent struct {
	mu   sync.Mutex
	seen map[recentNode]*recentDevice
}

// A recentNode is a device's node, with its numbers: another device that gets a name is another one.
type recentNode struct {
	path         string
	major, minor uint32
}

type recentDevice struct {
	mu          sync.Mutex
	at          time.Time
	explanation *explain.Explanation
}

// explain is look(path), or what that returned a moment ago for the same node. What it returns is others', too: nobody may change it.
// Errors aren't kept.
func (r *recent) explain(path string, look func(string) (*explain.Explanation, error)) (*explain.Explanation, error) {
	major, minor, ok := device.BlockNode(path)
	if !ok {
		return look(path)
	}
	n := recentNode{path, major, minor}
	r.mu.Lock()
	if r.seen == nil {
		r.seen = map[recentNode]*recentDevice{}
	}
	d := r.seen[n]
	if d == nil {
		d = &recentDevice{}
		r.seen[n] = d
	}
	r.mu.Unlock()
	// One looks, the others of the same time wait for it.
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.explanation != nil && time.Since(d.at) < recentFor {
		return d.explanation, nil
	}
	at := time.Now()
	e, err := look(path)
	if err != nil {
		d.explanation = nil
		return nil, err
	}
	d.at, d.explanation = at, e
	return e, nil
}
