package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/journaltest"
)

// appended waits until a trial appends to its file on a machine's share, which is to be seen on this side: eight minutes at most,
// because emulated machines that boot beside each other on a busy computer are slow.
func appended(dir string) bool {
	for end := time.Now().Add(8 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
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
	cache, err := os.UserCacheDir()
	mustDo(t, err)
	for _, name := range []string{"9p", "virtiofs", "virtiofs in Rust", "smb", "nfs"} {
		t.Run(name, func(t *testing.T) {
			share, _, inRust := strings.Cut(name, " ")
			if inRust {
				daemons, _ := filepath.Glob(filepath.Join(cache, "plimsoll/virtiofsd-*/bin"))
				if len(daemons) == 0 {
					t.Skip("the virtiofsd in Rust is needed: scripts/setup-virtiofsd builds it where there is a cargo")
				}
				t.Setenv("PATH", daemons[0]+":"+os.Getenv("PATH"))
			}
			for of, program := range map[string]string{"smb": "smbd", "nfs": "ganesha.nfsd"} {
				if _, err := exec.LookPath(program); err != nil && share == of {
					t.Skip(program + " is needed: scripts/setup guest")
				}
			}
			dir := machineState(t)
			cmd := exec.Command(os.Args[0], "run", "-", "--state", dir)
			cmd.Env = append(os.Environ(), asPlimsoll+"=1")
			cmd.Stdin = strings.NewReader("name: killed\nworkloads: {append: {kind: append, runtime: 5m}}\n" +
				"engines: [{name: vm, kind: vm, accel: tcg, cpus: 1, kernel: " + kernel + ", share: " + share + "}]\nplaces: {bind: {}}\nblocks: 1\ntimeout: 10m\n")
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
			for end := time.Now().Add(time.Minute); len(left) > 0 && time.Now().Before(end); left = processesWith(dir) {
				time.Sleep(20 * time.Millisecond)
			}
			if len(left) > 0 {
				t.Errorf("a minute after plimsoll was killed there are still:\n%s", strings.Join(left, "\n"))
			}
			r := plimsoll(t, t.Context(), dir, strings.Replace(small, "[host, oci]", "[host]", 1), "run", "-")
			if r.status != exitDone {
				t.Errorf("the next run: status %d\n%s", r.status, r.stderr)
			}
			for _, l := range journaltest.Left(t, dir) {
				t.Errorf("left behind: %s", l)
			}
			for _, sub := range []string{"vm", "data"} {
				files, _ := os.ReadDir(filepath.Join(dir, sub))
				for _, f := range files {
					t.Errorf("left behind: %s/%s", sub, f.Name())
				}
			}
		})
	}
}

// TestVMTenAtOnce: ten runs with a machine each are started at once, in one state folder that is new to all of them. Each is done; but those whose
// machine needs more memory than there is skip its cell, and say how much. Nothing is left of any.
func TestVMTenAtOnce(t *testing.T) {
	kernel, dir := needVM(t), t.TempDir()
	type run struct {
		cmd       *exec.Cmd
		out, errs bytes.Buffer
		small     bool
	}
	var runs []*run
	for i := range 10 {
		r := &run{small: i%5 != 4}
		memory, place := "256MiB", []string{"layer", "bind", "tmpfs"}[i%3]
		if !r.small {
			memory = "1TiB"
		}
		r.cmd = exec.Command(os.Args[0], "run", "-", "--json", "--state", dir)
		r.cmd.Env = append(os.Environ(), asPlimsoll+"=1")
		r.cmd.Stdin = strings.NewReader(fmt.Sprintf("name: ten\nworkloads: {append: {kind: append, count: 50}}\nengines: [{name: vm, kind: vm, accel: tcg, kernel: %q, memory: %s}]\nplaces: {%s: {}}\nblocks: 1\n",
			kernel, memory, place))
		r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.errs
		mustDo(t, r.cmd.Start())
		runs = append(runs, r)
	}
	for i, r := range runs {
		_ = r.cmd.Wait()
		status := r.cmd.ProcessState.ExitCode()
		if r.small && status != exitDone {
			t.Errorf("run %d: status %d\n%s\n%s", i, status, r.errs.String(), r.out.String())
		}
		if want := "of memory are free here"; !r.small && (status != exitCannot || !strings.Contains(r.errs.String()+r.out.String(), want)) {
			t.Errorf("run %d: status %d, want %d and %q\n%s", i, status, exitCannot, want, r.errs.String())
		}
	}
	if left := processesWith(dir); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
	for _, sub := range []string{"vm", "data"} {
		files, _ := os.ReadDir(filepath.Join(dir, sub))
		for _, f := range files {
			t.Errorf("left behind: %s/%s", sub, f.Name())
		}
	}
	// Files that are being made have names that begin with a dot.
	if torn, _ := filepath.Glob(filepath.Join(dir, "cache/vm/.*-*")); len(torn) > 0 {
		t.Errorf("left behind: %v", torn)
	}
	checkClean(t, dir)
}
