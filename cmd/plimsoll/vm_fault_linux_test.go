package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// appended waits until a trial appends to its file on a machine's share, which is to be seen on this side: three minutes at most.
func appended(dir string) bool {
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(dir, "data", "plimsoll-*", "*"))
		for _, f := range files {
			if st, err := os.Stat(f); err == nil && st.Size() > 500 {
				return true
			}
		}
	}
	return false
}

// TestVMKilled: a plimsoll that is killed in the middle of a trial takes its machine and the share's daemon along at once, and the
// next run removes their folders.
func TestVMKilled(t *testing.T) {
	kernel := needVM(t)
	for _, share := range []string{"9p", "virtiofs", "smb"} {
		t.Run(share, func(t *testing.T) {
			if _, err := exec.LookPath("smbd"); err != nil && share == "smb" {
				t.Skip("smbd is needed: scripts/setup guest")
			}
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], "run", "-", "--state", dir)
			cmd.Env = append(os.Environ(), asPlimsoll+"=1")
			cmd.Stdin = strings.NewReader("name: killed\nworkloads: {append: {kind: append, runtime: 5m}}\n" +
				"engines: [{name: vm, kind: vm, accel: tcg, kernel: " + kernel + ", share: " + share + "}]\nplaces: {bind: {}}\nblocks: 1\ntimeout: 10m\n")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			mustDo(t, cmd.Start())
			begun := appended(dir)
			machines := processesWith(dir)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			want := 3 // plimsoll, QEMU and the daemon.
			if share == "9p" {
				want = 2
			}
			if !begun || len(machines) < want {
				t.Fatalf("the trial has not begun; there are %q\n%s", machines, errs.String())
			}
			// The kernel has killed them by now; a busy machine may take a moment to take their memory back.
			left := processesWith(dir)
			for end := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(end); left = processesWith(dir) {
				time.Sleep(20 * time.Millisecond)
			}
			if len(left) > 0 {
				t.Errorf("ten seconds after plimsoll was killed there are still:\n%s", strings.Join(left, "\n"))
			}
			r := plimsoll(t, t.Context(), dir, strings.Replace(small, "[host, oci]", "[host]", 1), "run", "-")
			if r.status != exitDone {
				t.Errorf("the next run: status %d\n%s", r.status, r.stderr)
			}
			for _, sub := range []string{"vm", "data", "sessions"} {
				files, _ := os.ReadDir(filepath.Join(dir, sub))
				for _, f := range files {
					t.Errorf("left behind: %s/%s", sub, f.Name())
				}
			}
		})
	}
}
