package dockertest

import (
	"os"
	"runtime"
	"sync"
	"testing"
)

// TestShared: tests share a daemon until all have ended, and then nothing of it is left.
func TestShared(t *testing.T) {
	Program(t, "containerd")
	s := shared{start: Containerd}
	var of [2]*Daemon
	for i, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			of[i] = s.get(t)
			ping(t, of[i])
		})
	}
	if of[0] != of[1] {
		t.Fatalf("daemons in %s and %s, want one", of[0].Dir, of[1].Dir)
	}
	if !s.stop(false) {
		t.Error("stop failed")
	}
	if _, err := os.Stat(of[0].Dir); !os.IsNotExist(err) {
		t.Errorf("%s: %v, want it gone", of[0].Dir, err)
	}
}

// TestSharedNotStarted: if a daemon can't be started, the test that asked removes its parts, and the next test tries again.
func TestSharedNotStarted(t *testing.T) {
	made, removed := 0, 0
	s := shared{start: func(t testing.TB) *Daemon {
		made++
		t.Cleanup(func() { removed++ })
		runtime.Goexit() // As Skip and Fatal do.
		return nil
	}}
	for range 2 {
		var asks sync.WaitGroup
		asks.Go(func() { s.get(t) })
		asks.Wait()
	}
	if made != 2 || removed != 2 {
		t.Errorf("asked %d times, cleaned up %d times, want 2 and 2", made, removed)
	}
	if !s.stop(false) {
		t.Error("stop without a daemon failed")
	}
}
