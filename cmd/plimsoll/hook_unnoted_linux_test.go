package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/limit/hook"
	"plimsoll/internal/testkit/disktest"
)

// TestHookUnnoted: where the daemon's folder is full or read-only, a container is limited nevertheless with --best-effort, and a message
// says that the daemon has no record of it. It once started without any limit or message. Without that flag its start fails, and it has no limit.
func TestHookUnnoted(t *testing.T) {
	t.Parallel()
	l := newHookLab(t, hookRules)
	bundle := t.TempDir()
	mustDo(t, os.WriteFile(filepath.Join(bundle, "config.json"), []byte("{}"), 0o600))
	for _, way := range []string{"full", "read-only", "read-only and empty"} {
		t.Run(way, func(t *testing.T) {
			group := disktest.NewBlkioGroup(t)
			child := exec.Command("sleep", "1000")
			mustDo(t, child.Start())
			t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
			mustDo(t, group.Add(child.Process.Pid))
			run := t.TempDir()
			mustDo(t, unix.Mount("tmpfs", run, "tmpfs", 0, "size=64k"))
			t.Cleanup(func() { mustDo(t, unix.Unmount(run, 0)) })
			if way != "read-only and empty" {
				for _, d := range []string{"journal", "locks"} {
					mustDo(t, os.Mkdir(filepath.Join(run, d), 0o700))
				}
			}
			if way == "full" {
				if err := os.WriteFile(filepath.Join(run, "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
					t.Fatal(err)
				}
			} else {
				mustDo(t, unix.Mount("", run, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			}
			id := filepath.Base(string(group))
			state := fmt.Sprintf(`{"id":%q,"bundle":%q,"pid":%d}`, id, bundle, child.Process.Pid)
			for _, flags := range []string{"", "--best-effort"} {
				args := append([]string{"limit", "hook", "--run", run, "--policy", l.policy}, strings.Fields(flags)...)
				r := plimsoll(t, t.Context(), l.dir, state, args...)
				status, value := exitFailure, ""
				if flags != "" {
					status, value = exitDone, "3145728"
				}
				if got := l.limited(t, id); r.status != status || got != value {
					t.Errorf("%q: status %d, the limit is %q; %s", flags, r.status, got, r.stderr)
				}
				if told := strings.Contains(r.stderr, "the limits are set, but plimsoll daemon doesn't know of them"); told != (flags != "") || strings.Contains(r.stderr, "starts all the same") {
					t.Errorf("%q: %s", flags, r.stderr)
				}
			}
			if way != "full" {
				return
			}
			// Where hook.log alone can be written, it says so.
			mustDo(t, os.Remove(filepath.Join(run, "filler")))
			mustDo(t, os.RemoveAll(filepath.Join(run, "journal")))
			mustDo(t, os.WriteFile(filepath.Join(run, "journal"), nil, 0o600))
			r := plimsoll(t, t.Context(), l.dir, state, "limit", "hook", "--run", run, "--policy", l.policy, "--best-effort")
			log, err := os.ReadFile(filepath.Join(run, hook.Log))
			if err != nil || r.status != exitDone || !strings.Contains(string(log), id+": the limits are set, but plimsoll daemon doesn't know of them") {
				t.Errorf("status %d, hook.log: %v: %s", r.status, err, log)
			}
		})
	}
}
