package dockertest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Time limits of a daemon. On an idle machine of two cores it is ready in 3 seconds.
const (
	startLimit = 90 * time.Second
	stopLimit  = 30 * time.Second
)

func startDocker(t testing.TB, config string) *Daemon {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to start a Docker daemon")
	}
	env := programsFirst(os.Environ())
	dockerd := Program(t, "dockerd")
	containerd := Program(t, "containerd")
	d := &Daemon{Dir: tempDir(t), config: config}
	t.Cleanup(func() { d.stop(t) })
	d.Host = "unix://" + filepath.Join(d.Dir, "docker.sock")
	d.CgroupParent = "/" + filepath.Base(d.Dir)
	// containerd's snapshots stay on the disk: they are the layers of the current engine's containers.
	d.recordsInMemory(t, "root/image", "root/containers", "root/network", "root/buildkit",
		"containerd/io.containerd.metadata.v1.bolt", "containerd/io.containerd.content.v1.content")

	var err error
	if d.containerd, err = startContainerd(d.Dir, env, containerd); err != nil {
		t.Fatal(err)
	}
	d.restart = func() (*program, error) { return startDockerd(d, env, dockerd) }
	if d.main, err = d.restart(); err != nil {
		t.Fatal(err)
	}
	return d
}

// recordsInMemory puts folders into memory that hold a daemon's records, but no data of its containers. A daemon syncs each
// record to the disk, several for each layer of an image: on a busy disk an image of 120 layers took a minute and a half.
func (d *Daemon) recordsInMemory(t testing.TB, folders ...string) {
	t.Helper()
	for _, f := range folders {
		dir := filepath.Join(d.Dir, f)
		if err := os.MkdirAll(dir, 0o711); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0711,size=256m"); err != nil {
			t.Logf("the daemon's records stay on disk: mount a tmpfs: %v", err)
			return
		}
	}
}

func startDockerd(d *Daemon, env []string, path string) (*program, error) {
	// The machine's own configuration must not apply.
	config := filepath.Join(d.Dir, "daemon.json")
	if err := os.WriteFile(config, []byte(d.config), 0o644); err != nil {
		return nil, err
	}
	socket := filepath.Join(d.Dir, "docker.sock")
	for _, f := range []string{"pid", "docker.sock"} {
		// A killed daemon left them; its process id may be another process's by now.
		os.Remove(filepath.Join(d.Dir, f))
	}
	argv := []string{path, "--config-file", config,
		"--data-root", filepath.Join(d.Dir, "root"), "--exec-root", filepath.Join(d.Dir, "exec"),
		"--pidfile", filepath.Join(d.Dir, "pid"), "--containerd", filepath.Join(d.Dir, "containerd.sock"),
		"-H", d.Host, "--cgroup-parent", d.CgroupParent,
		"--bridge=none", "--iptables=false", "--ip6tables=false"}
	if os.Getenv(EnvPrograms) == "" {
		// By default the current engine keeps images in containerd's store.
		argv = append(argv, "--storage-driver=overlay2")
	}
	return startService(socket, filepath.Join(d.Dir, "dockerd.log"), env, argv...)
}

// stop ends the daemon and removes everything that it leaves.
func (d *Daemon) stop(t testing.TB) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.main != nil {
		d.main.stop(stopLimit)
	}
	if d.containerd != nil {
		d.containerd.stop(stopLimit)
	}
	if t.Failed() && d.main != nil {
		t.Logf("the daemon's last lines:\n%s", lastLines(d.main.log(), 30))
	}
	if err := d.clean(); err != nil {
		t.Errorf("stop the daemon: %v", err)
	}
}

// clean removes everything that an ended daemon left.
func (d *Daemon) clean() error {
	sockets := shimSockets(d.Dir)
	killPause(d.pause)
	killBelow(d.Dir, d.CgroupParent)
	errs := []error{unmountBelow(d.Dir)}
	for _, s := range sockets {
		os.Remove(s)
	}
	if n := d.Namespace(); n != "" {
		os.RemoveAll(filepath.Join("/run/containerd/runc", n))
	}
	removeCgroups(d.CgroupParent)
	removeCgroups(d.shared)
	return errors.Join(append(errs, os.RemoveAll(d.Dir))...)
}

// Program returns the path of a program that the daemons of tests use, such as runc: the one in PLIMSOLL_DOCKERD if that is
// set, else the installed one. It skips the test if there is none.
func Program(t testing.TB, name string) string {
	t.Helper()
	if dir := os.Getenv(EnvPrograms); dir != "" {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s: %v; build it with tools/currentdocker/build.sh", EnvPrograms, err)
		}
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs %s: apt-get install docker.io", name)
	}
	return path
}

// programsFirst puts the folder of PLIMSOLL_DOCKERD first on PATH, where dockerd and
// containerd look for the shim and the runtime.
func programsFirst(env []string) []string {
	if dir := os.Getenv(EnvPrograms); dir != "" {
		env = append(env, "PATH="+dir+":"+os.Getenv("PATH"))
	}
	return env
}

// folderPrefix begins the name of every daemon's folder.
const folderPrefix = "plimsoll-test-"

// tempDir makes a folder with a short path: a socket's is at most 107 bytes.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		t.Fatal(err)
	}
	notes.Add(t, dir)
	return dir
}
