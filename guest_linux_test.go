package plimsoll_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGuestEnds: scripts/guest returns its command's exit status. If a guest hangs, the script ends it and prints its last lines.
// QEMU and the programs that make its disk are stand-ins.
func TestGuestEnds(t *testing.T) {
	// The script is read here, so that go test runs again when it has changed.
	if _, err := os.ReadFile("scripts/guest"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, qemu   string
		status       int
		out, said    string
		neither, not string
	}{
		{"ends", "echo hello; echo guest: exit status 7", 7, "hello\n", "", "exit status", "its last words"},
		{"hangs", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; exec sleep 1000", 124, "line 1\n",
			"guest: it did not end within 0.02 minutes (GUEST_MINUTES), and was ended; its last words:\n  line 3\n", "", "line 2\n"},
		{"hangs and says nothing", "exec sleep 1000", 124, "", "guest: it did not end within", "", ""},
		{"ends early", "echo Kernel panic", 125, "Kernel panic\n", "guest: it ended before the command did", "", "its last words:"},
		{"breaks", "echo no such machine >&2; exit 1", 125, "", "no such machine\nguest: it ended before the command did", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			dir := t.TempDir()
			for _, d := range []string{"bin", "cache/plimsoll/guest/lib/modules/6.1.0", "folder", "tmp"} {
				if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "cache/plimsoll/guest/vmlinux"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			for name, script := range map[string]string{
				"qemu-system-x86_64": tt.qemu,
				"busybox":            "", "cpio": "cat >/dev/null", "xz": "", "mkfs.ext4": "", "modprobe": "", "depmod": "",
			} {
				if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(ctx, "bash", "scripts/guest", filepath.Join(dir, "folder"), "true")
			cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "GUEST_MINUTES=0.02")
			cmd.WaitDelay = time.Second
			var out, said strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &said
			var ee *exec.ExitError
			if err := cmd.Run(); err != nil && !errors.As(err, &ee) {
				t.Fatal(err)
			}
			if status := cmd.ProcessState.ExitCode(); status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if !strings.HasPrefix(out.String(), tt.out) || tt.neither != "" && strings.Contains(out.String(), tt.neither) {
				t.Errorf("it printed %q, want %q", out.String(), tt.out)
			}
			if !strings.Contains(said.String(), tt.said) || tt.not != "" && strings.Contains(said.String(), tt.not) {
				t.Errorf("it said %q, want %q", said.String(), tt.said)
			}
		})
	}
}
