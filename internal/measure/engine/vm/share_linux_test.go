package vm_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
)

// bindSpec asks for a machine with a share.
var bindSpec = engine.Spec{Place: place.Spec{Name: "bind", Kind: place.Bind}}

// needSMBD skips a test that needs Samba's server.
func needSMBD(t *testing.T) {
	t.Helper()
	needVM(t)
	if _, err := exec.LookPath("smbd"); err != nil {
		t.Skip("smbd is needed: scripts/setup guest")
	}
}

// ours reports whether the process of a folder of /proc was started by this test program: the same tests may run beside it.
func ours(dir string) bool {
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	return err == nil && strings.Contains("\x00"+string(env), "\x00"+bootTests+"="+os.Getenv(bootTests)+"\x00")
}

// processOf finds the process of that name which has the session's folder among its arguments, 0 if there is none.
func processOf(name, id string) int {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		b, err := os.ReadFile(p)
		program, args, _ := strings.Cut(string(b), "\x00")
		if err == nil && filepath.Base(program) == name && strings.Contains(args, "plimsoll-"+id) && ours(filepath.Dir(p)) {
			return atoi(filepath.Base(filepath.Dir(p)))
		}
	}
	return 0
}

// listening lists what listens on TCP in this machine's network.
func listening(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, f := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			// sl local_address rem_address st ... inode: 0A is LISTEN.
			if w := strings.Fields(line); len(w) > 9 && w[3] == "0A" {
				out = append(out, "socket:["+w[9]+"]")
			}
		}
	}
	return out
}

// TestVMSMB: smbd serves a machine that boots and those that go on, with each of its caches, on one connection: neither it nor QEMU listens, and what
// it keeps is in the session's folder, which goes.
func TestVMSMB(t *testing.T) {
	needSMBD(t)
	// Longer than a socket's path may be.
	state := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	o := testOptions(t, state)
	o.Share = vm.ShareSMB
	for _, tt := range []struct{ id, cache, mounted string }{{"boots", "", "strict"}, {"goes-on", "none", "none"}, {"goes-on-again", "loose", "loose"}} {
		id := tt.id
		o.ShareCache = tt.cache
		a := openVM(t, vm.New(o), id, bindSpec)
		if got, want := a.Info().Storage, "smb 3.1.1, cache="+tt.mounted; got != want {
			t.Errorf("Storage = %q, want %q", got, want)
		}
		if m := a.Hello.Mount; m.FSType != "cifs" || wordsOf(m.Options, "none", "strict", "loose", "vers=") != "cache="+tt.mounted+" vers=3.1.1" {
			t.Errorf("the place is mounted as %+v, want cifs with cache=%s", m, tt.mounted)
		}
		daemon := processOf("smbd", id)
		if daemon == 0 {
			t.Error("no smbd is to be found")
		}
		for _, pid := range []int{daemon, a.Info().PID} {
			fds, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd/*"))
			for _, fd := range fds {
				if to, err := os.Readlink(fd); err == nil && slices.Contains(listening(t), to) {
					t.Errorf("process %d listens: %s", pid, to)
				}
			}
		}
		appends(t, a)
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantNothingLeft(t, state, id)
		if pid := processOf("smbd", id); pid != 0 {
			t.Errorf("left behind: smbd %d", pid)
		}
	}
	if saved, _ := filepath.Glob(filepath.Join(state, "cache/vm/saved-*")); len(saved) != 1 {
		t.Errorf("saved are %v, want one", saved)
	}
}

// TestVMDaemonDies: a machine whose share's daemon dies is ended, and the trial says why.
func TestVMDaemonDies(t *testing.T) {
	needVM(t)
	t.Run("virtiofs", func(t *testing.T) {
		eachVirtioFS(t, func(t *testing.T, _ string, o func(*testing.T, string) vm.Options) {
			daemonDies(t, o(t, sharedState(t)), "virtiofsd")
		})
	})
	for share, program := range map[string]string{vm.ShareSMB: "smbd", vm.ShareNFS: "ganesha.nfsd"} {
		t.Run(share, func(t *testing.T) {
			if share == vm.ShareSMB {
				needSMBD(t)
			} else {
				needGanesha(t)
			}
			o := testOptions(t, sharedState(t))
			o.Share = share
			daemonDies(t, o, program)
		})
	}
}

// daemonDies kills the daemon of a machine's share in the middle of a trial.
func daemonDies(t *testing.T, o vm.Options, program string) {
	t.Helper()
	a := openVM(t, vm.New(o), "daemon-1", bindSpec)
	defer wantNothingLeft(t, o.State, "daemon-1")
	defer a.Close(context.WithoutCancel(t.Context()))
	long := workload.Spec{Name: "long", Kind: workload.WAL, Runtime: time.Hour}
	if err := a.Prepare(t.Context(), "1", long); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	daemon := processOf(program, "daemon-1")
	if daemon == 0 {
		t.Fatalf("no %s is to be found", program)
	}
	if err := syscall.Kill(daemon, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := a.Wait(ctx, "1", nil); err == nil || !strings.Contains(err.Error(), "the share's daemon ended: killed") {
		t.Errorf("Wait() = %v, want the end of the daemon", err)
	}
}

// TestVMDaemonNeverServes: if smbd ends as it starts, the error has its words.
func TestVMDaemonNeverServes(t *testing.T) {
	needVM(t)
	fake := filepath.Join(t.TempDir(), "smbd")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\necho 'no such option: --interactive' >&2; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := testOptions(t, t.TempDir())
	o.Share = vm.ShareSMB
	o.LookPath = instead("smbd", fake)
	spec := bindSpec
	spec.ID = "never-1"
	_, err := vm.New(o).Open(t.Context(), spec)
	if want := "the share's daemon ended: exit status 1: no such option: --interactive"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open() = %v, want it to say %q", err, want)
	}
	wantNothingLeft(t, o.State, "never-1")
}
