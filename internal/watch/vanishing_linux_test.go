package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestVanishing: groups that a container makes and removes while they are read are passed over. Their files said "no such device", and
// nothing was known of the container then.
func TestVanishing(t *testing.T) {
	l := newLab(t, nil, nil)
	var stop atomic.Bool
	var done sync.WaitGroup
	done.Go(func() {
		for i := 0; !stop.Load(); i++ {
			below := filepath.Join(string(l.group), fmt.Sprintf("x%d", i))
			if err := os.Mkdir(below, 0o755); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(i%7) * 20 * time.Microsecond)
			if err := os.Remove(below); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer done.Wait()
	defer stop.Store(true)
	for range 1500 {
		for _, r := range l.sample().Subjects {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
}
