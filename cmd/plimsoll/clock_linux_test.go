package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
)

// mayJump says that this machine's clock may be set: that of the guest that scripts/test-guest starts.
const mayJump = "PLIMSOLL_TEST_MAY_SET_CLOCK"

// setClock sets the machine's wall clock forth, or back.
func setClock(by time.Duration) error {
	tv := unix.NsecToTimeval(time.Now().Add(by).UnixNano())
	return unix.Settimeofday(&tv)
}

// TestLieClockJump: the machine's wall clock jumps in the middle of a trial. The worker, the plimsoll that waits
// for it and the containers go on; window and latencies are as long as they were, and the trial says that the clock jumped.
func TestLieClockJump(t *testing.T) {
	needRun(t)
	if os.Getenv(mayJump) == "" {
		t.Skip("this machine's clock is not to be set; the guest's is: make test-guest")
	}
	const runtime = 6 * time.Second
	for name, jump := range map[string]time.Duration{"forth": 26 * time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			const plan = `
name: jump
workloads: {w: {rw: randread, bs: 4KiB, size: 1MiB, runtime: 6s}}
io_engine: psync
engines: [host, oci]
places: {dir: {}, bind: {}}
blocks: 1
`
			set := make(chan error, 1)
			begin := time.Now() // Its monotonic part is not set.
			go func() {
				measuringFor(dir)
				set <- setClock(jump)
			}()
			r := plimsoll(t, t.Context(), dir, plan, "run", "-")
			err := <-set
			if back := setClock(-jump); err != nil || back != nil {
				t.Fatalf("the clock can't be set: %v, and back: %v", err, back)
			}
			if r.status != exitDone {
				t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
			}
			all := time.Since(begin)
			run, trials := records(t, dir)
			wantDone(t, trials, 3)
			jumped := 0
			for _, tr := range trials {
				res := tr.Results[0]
				if res.Elapsed < runtime || res.Elapsed > runtime*3/2 || tr.Wall > all {
					t.Errorf("%s: the window took %v of %v, the trial %v", tr.Key, res.Elapsed, runtime, tr.Wall)
				}
				if most := time.Duration(res.Classes[0].Lat.Max()); most > runtime {
					t.Errorf("%s: the slowest I/O took %v", tr.Key, most)
				}
				for i, s := range res.Samples {
					if s.At > 2*runtime || i > 0 && s.At <= res.Samples[i-1].At {
						t.Errorf("%s: sample %d is at %v", tr.Key, i, s.At)
					}
				}
				if slices.ContainsFunc(tr.Warnings, func(w record.Warning) bool { return w.Check == check.Clock && strings.Contains(w.Text, "wall clock") }) {
					jumped++
				}
			}
			if jumped != 1 {
				t.Errorf("%d trials say that the clock jumped, want the one in which it did", jumped)
			}
			if run.Status != record.Done {
				t.Errorf("the run is %s", run.Status)
			}
			checkClean(t, dir)
		})
	}
}
