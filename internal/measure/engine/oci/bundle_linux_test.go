package oci

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/wire"
)

func TestBundle(t *testing.T) {
	worker := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(worker, []byte("w"), 0o755); err != nil {
		t.Fatal(err)
	}
	missing := newBundle(t.TempDir(), worker, engine.Spec{ID: "1", Image: "/nonexistent"})
	if err := missing.write(nil); err == nil || !strings.Contains(err.Error(), "root file system") {
		t.Errorf("write with a missing image = %v", err)
	}
	odd := filepath.Join(t.TempDir(), "a:b")
	if err := newBundle(odd, worker, engine.Spec{ID: "1", Place: place.Spec{Kind: place.Layer}}).write(nil); err == nil || !strings.Contains(err.Error(), "overlay") {
		t.Errorf("write in %s = %v, want a refusal", odd, err)
	}
	b := newBundle(t.TempDir(), worker, engine.Spec{ID: "1", Place: place.Spec{Kind: place.Layer}, Limits: limit.Limits{Memory: 1 << 20, CPUs: 1.5, CPUShares: 512}})
	if err := b.write([]string{"agent"}); err != nil {
		t.Fatal(err)
	}
	r := b.resources()
	if got := *r.Memory.Limit; got != 1<<20 {
		t.Errorf("memory limit %d, want 1 MiB", got)
	}
	if *r.CPU.Quota != 150_000 || *r.CPU.Period != 100_000 {
		t.Errorf("CPU quota %d in %d, want 150,000 in 100,000", *r.CPU.Quota, *r.CPU.Period)
	}
	if got := *r.CPU.Shares; got != 512 {
		t.Errorf("CPU shares %d, want 512", got)
	}
	if r := newBundle("", worker, engine.Spec{}).resources(); r.Memory != nil || r.CPU != nil {
		t.Errorf("resources without limits: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "lower", containerWorker)); err != nil {
		t.Error(err)
	}
}

// TestOCIOpenFiles: the bundle sets how many files the worker in a container may have open: as many as the
// host's worker, and never fewer than this process.
func TestOCIOpenFiles(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	want := own.Max
	if want < wire.OpenFiles && engine.Capable(unix.CAP_SYS_RESOURCE) {
		want = wire.OpenFiles
	}
	c, err := newBundle(t.TempDir(), "worker", engine.Spec{ID: "x", Place: place.Spec{Kind: place.Layer}}).config([]string{"agent"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Process.Rlimits) != 1 {
		t.Fatalf("rlimits %+v, want that on open files", c.Process.Rlimits)
	}
	if r := c.Process.Rlimits[0]; r.Type != "RLIMIT_NOFILE" || r.Soft != want || r.Hard != want {
		t.Errorf("rlimit %+v, want RLIMIT_NOFILE of %d", r, want)
	}
}
