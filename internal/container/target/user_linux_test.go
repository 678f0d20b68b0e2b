package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/testkit/texttest"
)

// envUser makes this test binary another user's plimsoll; its value is the test's folder.
const envUser = "PLIMSOLL_TEST_TARGET_USER"

// TestUserProcess is the process that TestUser starts. It tests nothing itself.
func TestUserProcess(t *testing.T) {
	dir := os.Getenv(envUser)
	if dir == "" {
		t.Skip("run by TestUser only")
	}
	for kind, opt := range map[string]Options{
		"docker":     {Daemons: []dockerapi.Address{{Host: "unix://" + dir + "/docker.sock"}}},
		"containerd": {Containerd: []ContainerdRoot{{State: dir + "/state"}}},
		"runc":       {Runc: []string{dir + "/runc"}},
		"podman":     {Storage: []Storage{{Graph: dir + "/graph", Run: dir + "/run"}}},
	} {
		_, err := New(opt).Resolve(context.Background(), Ref{Kind: Container, Name: "web"})
		fmt.Printf("%s: %v: %v\n", kind, errors.Is(err, os.ErrPermission), err)
	}
}

// TestUser: for a user without permission, the error says so and names the fix. It doesn't say that nothing exists.
func TestUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	dir, err := os.MkdirTemp("", "plimsoll-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"state/" + taskFolder, "runc", "graph", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", filepath.Join(dir, "docker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(filepath.Join(dir, "docker.sock"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUserProcess$")
	cmd.Env = append(os.Environ(), envUser+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	texttest.Has(t, string(out), []string{
		"docker: true: there is no container web; not asked: this user may not use the socket " + dir + "/docker.sock; run as root",
		"containerd: true: there is no container web; not asked: this user may not read " + dir + "/state/" + taskFolder + " (containerd); run as root",
		"runc: true: there is no container web; not asked: this user may not read " + dir + "/runc (runc); run as root",
		"podman: true: there is no container web; not asked: this user may not read " + dir + "/graph (the storage of Podman and CRI-O); run as root",
	})
}
