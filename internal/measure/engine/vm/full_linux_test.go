package vm_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/load"
)

// fill takes all the room that a file system has.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(b)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

// TestVMDiskFull: a machine whose disk can't grow fails its trial at once, and what it failed of is said.
func TestVMDiskFull(t *testing.T) {
	needVM(t)
	_, dir := disktest.Disk(t, disktest.Options{Size: 300 << 20})
	s, err := vm.New(testOptions(t, dir)).Open(t.Context(), layerSpec("full"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.Open(t.Context(), s)
	if err != nil {
		t.Fatal(errors.Join(err, s.Close(t.Context())))
	}
	defer func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	fill(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// Its layout or its window fails, whichever writes first.
	job := load.Job{RW: load.Write, BS: 256 << 10, Size: 32 << 20, Direct: true, IOEngine: load.PSync}
	err = a.Prepare(ctx, "1", workload.Spec{Name: "w", Kind: workload.Block, Job: job})
	if err == nil {
		if err = a.Start("1"); err == nil {
			_, err = a.Wait(ctx, "1", nil)
		}
	}
	if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("the trial ends with %v, want the guest's error of I/O", err)
	}
	if log := s.Log(); !strings.Contains(log, "the file system of the machine's disk, "+a.Info().HostPath+", is full") {
		t.Errorf("the log doesn't say that the disk has no room: %s", log)
	}
}
