package dockertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func startContainerdAlone(t testing.TB) *Daemon {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to start containerd")
	}
	containerd, ctr := Program(t, "containerd"), Program(t, "ctr")
	d := &Daemon{Dir: tempDir(t), Env: programsFirst(os.Environ())}
	t.Cleanup(func() { d.stop(t) })
	d.Host = "unix://" + filepath.Join(d.Dir, "containerd.sock")
	d.CgroupParent = "/" + filepath.Base(d.Dir)
	d.recordsInMemory(t, "containerd")
	d.Command = []string{ctr, "--address", strings.TrimPrefix(d.Host, "unix://"), "--namespace", d.Namespace()}
	d.restart = func() (*program, error) { return startContainerd(d.Dir, d.Env, containerd) }
	var err error
	if d.main, err = d.restart(); err != nil {
		t.Fatal(err)
	}
	return d
}

// startContainerd starts a containerd for one dockerd. By default dockerd uses the machine's containerd, if there is one.
func startContainerd(dir string, env []string, path string) (*program, error) {
	config := filepath.Join(dir, "containerd.toml")
	text := fmt.Sprintf("version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n"+
		"[plugins.\"io.containerd.internal.v1.opt\"]\n  path = %q\n", filepath.Join(dir, "opt"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "containerd.sock")
	return startService(socket, filepath.Join(dir, "containerd.log"), env, path,
		"--config", config, "--root", filepath.Join(dir, "containerd"), "--state", filepath.Join(dir, "containerd-state"), "--address", socket)
}

// shimSockets lists the sockets of containerd's shims: they are outside of its folders, and stay when the shims are killed.
func shimSockets(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "containerd-state", "io.containerd.runtime.v2.task", "*", "*", "address"))
	var sockets []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if path, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "unix://"); err == nil && ok && strings.HasPrefix(path, "/run/containerd/s/") {
			sockets = append(sockets, path)
		}
	}
	return sockets
}
