package keeper

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestCheckAll: a limit that the kernel refuses does not stop the limits of other rules from being restored, and looking often does
// not postpone the next try.
func TestCheckAll(t *testing.T) {
	var refuse atomic.Bool
	h := holderFor(t)
	h.Groups = h.Groups.Through(func(path, text string, next func(string, string) error) error {
		if refuse.Load() && strings.HasSuffix(path, "write_bps_device") {
			return syscall.EIO
		}
		return next(path, text)
	})
	b := newBench(t, Options{Holder: h}, oneRule+"- {name: two, match: all, where: {device: DISK}, limits: {read_iops: 100}}\n")
	b.stop()
	// A keeper that doesn't run gets no events of disks, which would make it try everything again.
	k, err := New(b.opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	k.Started(targetOf(b.group))
	b.has("1048576")
	second := func() bool { return throttle(base(b.group), "read_iops", b.number) == "100" }
	eventually(t, "the second is held", second)
	refuse.Store(true)
	for file, value := range map[string]string{"write_bps": " 5000000", "read_iops": " 7"} {
		if err := b.group.Put("blkio.throttle."+file+"_device", b.number+value); err != nil {
			t.Fatal(err)
		}
	}
	faults := func() []Fault { return k.Status().Containers[0].Faults }
	eventually(t, "the second is restored", func() bool { k.Check(); return second() })
	eventually(t, "the fault of the first is told", func() bool { k.Check(); f := faults(); return len(f) == 1 && f[0].Rule == "one" })
	for range 10 {
		k.Check()
	}
	e := k.all()[0]
	e.mu.Lock()
	if wait := time.Until(e.retry); e.retryWait != firstRetry || wait > firstRetry {
		t.Errorf("it is tried again in %v, after a wait of %v; want %v", wait, e.retryWait, firstRetry)
	}
	e.mu.Unlock()
	refuse.Store(false)
	k.disks(nil)
	b.has("1048576")
	if f := faults(); len(f) > 0 {
		t.Errorf("faults of what is held: %v", f)
	}
}
