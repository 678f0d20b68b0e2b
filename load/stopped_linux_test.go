package load

import (
	"testing"
	"time"
)

// TestStoppedThreadIsNoHang: threads that are stopped in the middle of their own work, perhaps with half-written counts, do not look
// like hanging storage. Before, a thread that had read the clock within the window counted while others read its account.
func TestStoppedThreadIsNoHang(t *testing.T) {
	t.Parallel()
	cpus, err := allowedCPUs()
	if err != nil || len(cpus) < 2 {
		t.Skipf("needs two processors: %v, %v", cpus, err)
	}
	f := frozen{
		Job:  Job{RW: Write, IOEngine: Null, Size: 1 << 20, IODepth: 32, NumJobs: 4, RampTime: 30 * time.Millisecond, Runtime: 60 * time.Millisecond, CPUs: cpus[:1]},
		Held: hangEvery + 500*time.Millisecond,
	}
	f.do(t, 4)
	if len(f.Hung) > 0 || f.Result.Ops() == 0 && f.Result.InFlight() == 0 {
		t.Errorf("%d times it was said that the job hangs: %+v", len(f.Hung), f.Result)
	}
}
