package hold

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/disktest"
	"plimsoll/internal/limit/explain"
)

// TestRecent: those that ask for a device at once get one look's answer, and later ones, and those for another device of its name,
// get their own.
func TestRecent(t *testing.T) {
	disk, other := disktest.Loop(t, disktest.Image(t, 1<<20), false), disktest.Loop(t, disktest.Image(t, 1<<20), false)
	link := t.TempDir() + "/disk"
	if err := os.Symlink(disk, link); err != nil {
		t.Fatal(err)
	}
	var looks atomic.Int64
	look := func(path string) (*explain.Explanation, error) {
		looks.Add(1)
		time.Sleep(10 * time.Millisecond)
		return &explain.Explanation{Path: path}, nil
	}
	var r recent
	began := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if e, err := r.explain(link, look); err != nil || e.Path != link {
				t.Errorf("explain = %v, %v", e, err)
			}
		})
	}
	all.Wait()
	if n, most := looks.Load(), 1+int64(time.Since(began)/recentFor); n > most {
		t.Errorf("%d looks at one device at once, want %d", n, most)
	}
	n := looks.Load()
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.explain(link, look); err != nil || looks.Load() != n+1 {
		t.Errorf("%d looks at another device of the same name, %v", looks.Load()-n, err)
	}
	time.Sleep(recentFor)
	if _, err := r.explain(link, look); err != nil || looks.Load() != n+2 {
		t.Errorf("%d looks after a while, %v", looks.Load()-n-1, err)
	}
	time.Sleep(recentFor)
	bad := errors.New("bad")
	if _, err := r.explain(link, func(string) (*explain.Explanation, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Errorf("explain = %v, want an error", err)
	}
	if _, err := r.explain(link, look); err != nil || looks.Load() != n+3 {
		t.Errorf("%d looks after an error, %v", looks.Load()-n-2, err)
	}
	if _, err := r.explain(t.TempDir(), look); err != nil || looks.Load() != n+4 {
		t.Errorf("what is no device isn't looked at: %v", err)
	}
}
