package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestVanishing: a container that makes and removes groups without end is no fault, and what it makes that lives is held soon. It is
// looked at some times a second, and not each time that one is made.
func TestVanishing(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{}, oneRule)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	eventually(t, "the keeper is done with it", func() bool { return b.said("held to") })
	looks := b.k.looks.Load()
	began, cpu := time.Now(), used(t)
	stop := b.group.Churn(t, "x", 100*time.Microsecond, 0)
	defer stop()
	var longest time.Duration
	for i := range 20 {
		time.Sleep(100 * time.Millisecond)
		living := filepath.Join(string(b.group), fmt.Sprintf("living-%d", i))
		if err := os.Mkdir(living, 0o755); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(living)
		took := eventually(t, "a group that lives is held", func() bool {
			return rate(filepath.Join(base(b.group), filepath.Base(living)), b.number) == "1048576"
		})
		longest = max(longest, took)
	}
	took := time.Since(began)
	t.Logf("held after %v at most; %d looks and %v of processors in %v", longest, b.k.looks.Load()-looks, used(t)-cpu, took)
	// Without a bound there are a hundred a second. On a busy machine it may seem to have paused.
	if n := b.k.looks.Load() - looks; n > 2*(burstLength+int64(took/burstWait)) {
		t.Errorf("%d looks in %v", n, took)
	}
	s := b.k.Status()
	if len(s.Containers) != 1 || len(s.Containers[0].Faults) > 0 {
		t.Errorf("the state: %+v, want one container without faults", s.Containers)
	}
	if s.Drift > 0 {
		t.Errorf("drift %d", s.Drift)
	}
	for _, words := range []string{"can't be kept", "no such device"} {
		if b.said(words) {
			t.Errorf("reported: %s", words)
		}
	}
}

// used is what this process has used of processors.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
