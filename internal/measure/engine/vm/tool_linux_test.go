package vm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestVMToolHangs: a program that never ends, with a child that holds its output, ends with the caller's patience, and the child with it.
func TestVMToolHangs(t *testing.T) {
	dir := t.TempDir()
	qemu, child := filepath.Join(dir, "qemu-system-x86_64"), filepath.Join(dir, "child")
	if err := os.WriteFile(qemu, []byte("#!/bin/sh\nsleep 1000 &\necho $! >"+child+"\nwait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, late)
	defer cancel()
	got := make(chan error, 1)
	go func() { _, err := qemuVersion(ctx, qemu); got <- err }()
	select {
	case err := <-got:
		if !errors.Is(err, late) {
			t.Errorf("qemuVersion() = %v, want %v", err, late)
		}
	case <-time.After(time.Minute):
		t.Error("qemuVersion() waits for a child of what it has killed")
	}
	b, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		cmdline, _ := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(b)), "cmdline"))
		if !strings.Contains(string(cmdline), "sleep") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: process %s: %q", b, cmdline)
		}
	}
}

// TestVMToolFails: what a program says that is no QEMU is in the error, if it says anything.
func TestVMToolFails(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":                 "qemu doesn't run: it doesn't print its version",
		"echo no way >&2;exit 1": `qemu doesn't run: exit status 1; it prints "no way"`,
		"yes":                    `it prints "y\ny\n`,
	} {
		qemu := filepath.Join(t.TempDir(), "qemu")
		if err := os.WriteFile(qemu, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := qemuVersion(t.Context(), qemu); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("qemuVersion() of %q = %v, want %q", script, err, want)
		}
	}
}
