package engine

import (
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/place"
)

// TestInfoWaitsForThePID: the runtime may write the pid after the worker's hello.
func TestInfoWaitsForThePID(t *testing.T) {
	b := newBundle(t.TempDir(), "worker", Spec{ID: "x"})
	s := &ociSession{process: &process{waited: make(chan struct{})}, bundle: b, pidWait: time.Hour}
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = os.WriteFile(b.pidFile()+".new", []byte("4711\n"), 0o600)
		_ = os.Rename(b.pidFile()+".new", b.pidFile())
	}()
	if got := s.Info().PID; got != 4711 {
		t.Errorf("Info().PID = %d, want the one that comes a moment later", got)
	}
	late := &ociSession{process: &process{waited: make(chan struct{})}, bundle: newBundle(t.TempDir(), "worker", Spec{ID: "z"}), pidWait: time.Millisecond}
	if got := late.Info().PID; got != 0 {
		t.Errorf("Info().PID = %d, want 0 where none comes", got)
	}
	// A container that has ended will have none.
	ended := &ociSession{process: &process{waited: make(chan struct{})}, bundle: newBundle(t.TempDir(), "worker", Spec{ID: "y"})}
	close(ended.waited)
	if got := ended.Info().PID; got != 0 {
		t.Errorf("Info().PID = %d of a container that ended before it had one", got)
	}
}

// TestNoLimitsOnIO: what no engine offers isn't said to be another's, nor a command's that isn't there.
func TestNoLimitsOnIO(t *testing.T) {
	l := limit.Limits{Name: "slow", ReadBPS: 1}
	errs := map[string]error{
		"host":   (&host{}).supports(Spec{Place: place.Spec{Kind: place.Dir}, Limits: l}),
		"oci":    (&oci{}).supports(Spec{Place: place.Spec{Kind: place.Bind}, Limits: l}),
		"docker": dockerCheckLimits(l),
	}
	for name, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "no engine of this version limits I/O") || strings.Contains(err.Error(), "plimsoll limit") {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := (&host{}).supports(Spec{Place: place.Spec{Kind: place.Dir}, Limits: limit.Limits{CPUs: 1}})
	if err == nil || !strings.Contains(err.Error(), "oci and docker engines limit memory, cpus and cpu_shares") {
		t.Errorf("host: %v", err)
	}
}
