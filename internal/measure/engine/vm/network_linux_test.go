package vm

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/testkit/workertest"
)

// networks lists the network namespaces of this process's threads.
func networks(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	paths, _ := filepath.Glob("/proc/self/task/*/ns/net")
	for _, p := range paths {
		if ns, err := os.Readlink(p); err == nil { // A thread may have ended.
			all[ns] = true
		}
	}
	return all
}

// TestInOwnNetwork: a server that is started there is reached from there alone, and no thread of this process stays.
func TestInOwnNetwork(t *testing.T) {
	if !engine.CanUnshare() {
		t.Skip("root is needed for a network namespace")
	}
	here := networks(t)
	var at netip.AddrPort
	for range 5 { // Goroutines begin on any thread, the first one included.
		err := inOwnNetwork(func() (<-chan struct{}, error) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			defer l.Close()
			at = netip.MustParseAddrPort(l.Addr().String())
			if c, err := awaitServer(at, func() error { return errors.New("it gave up") }); err != nil {
				t.Errorf("awaitServer(%v) = %v", at, err)
			} else {
				c.Close()
			}
			others := make(chan error)
			go func() {
				c, err := net.Dial("tcp4", at.String())
				if err == nil {
					c.Close()
				}
				others <- err
			}()
			if err := <-others; err == nil {
				t.Errorf("%v is reached from outside", at)
			}
			child, err := exec.Command("readlink", "/proc/self/ns/net").Output()
			if err != nil || here[strings.TrimSpace(string(child))] {
				t.Errorf("a child is in %s, %v", child, err)
			}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := inOwnNetwork(func() (<-chan struct{}, error) {
		_, err := awaitServer(at, func() error { return errors.New("it gave up") })
		return nil, err
	}); err == nil || err.Error() != "it gave up" {
		t.Errorf("awaitServer() without one = %v, want that it gave up", err)
	}
	// Threads end some time after their function.
	for deadline := time.Now().Add(time.Minute); len(networks(t)) != len(here); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("threads are in %v, before they were in %v", networks(t), here)
		}
	}
}

// TestHandleFault: files of a real file system are found by their handles, those of /proc are not.
func TestHandleFault(t *testing.T) {
	if !engine.CanUnshare() {
		t.Skip("root is needed for handles")
	}
	if err := handleFault(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := handleFault("/proc"); err == nil || !strings.Contains(err.Error(), "operation not supported") {
		t.Errorf("handleFault(/proc) = %v, want it not supported", err)
	}
}

// TestBoundFolder: a command in mounts of its own sees a folder that they hide, is in the network of the thread that started it, and
// is killed with that, whatever it did to outlive it.
func TestBoundFolder(t *testing.T) {
	if !engine.CanUnshare() {
		t.Skip("root is needed for mounts")
	}
	exe, err := (&engine.Installer{Dir: t.TempDir(), Source: workertest.Source(t)}).Install(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/tmp", "TestBoundFolder:")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, "file"), []byte("seen\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	here := networks(t)
	run := func(script string, leave <-chan struct{}) *engine.Process {
		var p *engine.Process
		err := inOwnNetwork(func() (keep <-chan struct{}, err error) {
			p, err = engine.StartFenced([]string{exe, "nsexec", "--child", "--tmpfs", "1m:/tmp", "--bind", folder + ":/tmp/share", "--", "sh", "-c", script})
			if leave != nil {
				return leave, err
			}
			return p.Waited, err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Kill(); p.End(t.Context(), 0) })
		return p
	}
	ended := func(p *engine.Process) {
		t.Helper()
		select {
		case <-p.Waited:
		case <-time.After(time.Minute):
			t.Fatalf("it still runs, and says %q", p.Log())
		}
	}
	p := run("cat /tmp/share/file >&2; ls /tmp >&2; readlink /proc/self/ns/net >&2; exit 7", nil)
	ended(p)
	said, network, _ := strings.Cut(p.Log(), "\nnet:")
	if ended := engine.ExitWords(p.WaitErr); ended != "exit status 7" {
		t.Errorf("it ended with %s", ended)
	}
	if said != "seen\nshare" {
		t.Errorf("it says %q", said)
	}
	if network == "" || here["net:"+network] {
		t.Errorf("it is in network %q; here is %v", network, here)
	}
	leave := make(chan struct{})
	// The process that it has started is in none of its groups.
	p = run("setsid sh -c 'readlink /proc/self/ns/net >&2; exec sleep 1000' & exec sleep 1000", leave)
	for !strings.Contains(p.Log(), "]") {
		time.Sleep(time.Millisecond)
	}
	close(leave)
	if ended(p); engine.ExitWords(p.WaitErr) != "killed by signal killed" {
		t.Errorf("it ended with %s", engine.ExitWords(p.WaitErr))
	}
	paths, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	for _, path := range paths {
		if ns, err := os.Readlink(path); err == nil && ns == strings.TrimSpace(p.Log()) {
			t.Errorf("%s is still in its network", path)
		}
	}
}
