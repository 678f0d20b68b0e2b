package dockertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// podmanCgroup is the parent of the cgroups of all of Podman's containers.
const podmanCgroup = "/libpod_parent"

// podmanFiles is the folder of its temporary files, below the daemon's own.
const podmanFiles = "files"

func startPodman(t testing.TB, opt PodmanOptions) *Daemon {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to start Podman's service")
	}
	podman, err := exec.LookPath("podman")
	if err != nil {
		t.Skip("needs podman: apt-get install podman")
	}
	runc := opt.Runtime
	if runc == "" {
		if runc, err = exec.LookPath("runc"); err != nil {
			t.Skip("needs runc: apt-get install runc")
		}
	}
	shared := ""
	if len(cgroups(podmanCgroup)) == 0 {
		shared = podmanCgroup
		notes.Add(t, podmanCgroup)
	}
	d := &Daemon{Dir: tempDir(t), shared: shared}
	t.Cleanup(func() { d.stop(t) })
	socket := filepath.Join(d.Dir, "podman.sock")
	d.Host = "unix://" + socket
	config := filepath.Join(d.Dir, "containers.conf")
	if err := os.WriteFile(config, []byte(podmanConfig(d.Dir, runc, opt)), 0o644); err != nil {
		t.Fatal(err)
	}
	// It has a storage.conf of its own, because the machine's may name another driver.
	storage := filepath.Join(d.Dir, "storage.conf")
	if err := os.WriteFile(storage, fmt.Appendf(nil, "[storage]\ndriver=\"overlay\"\ngraphroot=%q\nrunroot=%q\n", filepath.Join(d.Dir, "root"), filepath.Join(d.Dir, "run")), 0o644); err != nil {
		t.Fatal(err)
	}
	// Podman 4.3 leaves a copy of every image that it loads in TMPDIR, /var/tmp by default.
	files := filepath.Join(d.Dir, podmanFiles)
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "CONTAINERS_CONF="+config, "CONTAINERS_STORAGE_CONF="+storage, "TMPDIR="+files)
	if env, err = withoutPackages(d.Dir, env); err != nil {
		t.Fatal(err)
	}
	as, env, err := d.become(opt.User, env)
	if err != nil {
		t.Fatal(err)
	}
	d.Env, d.Command = env, append(as, podman,
		"--root", filepath.Join(d.Dir, "root"), "--runroot", filepath.Join(d.Dir, "run"), "--tmpdir", filepath.Join(d.Dir, "tmp"),
		"--cgroup-manager", "cgroupfs", "--runtime", runc, "--events-backend", "file")
	d.restart = func() (*program, error) {
		os.Remove(socket)
		return startService(socket, filepath.Join(d.Dir, "podman.log"), env, append(slices.Clone(d.Command), "system", "service", "--time=0", d.Host)...)
	}
	if d.main, err = d.restart(); err != nil {
		t.Fatal(err)
	}
	return d
}

// withoutPackages puts a dpkg-query that knows no package first on PATH. To report about itself, which each command of Plimsoll
// asks it to, Podman looks up the package of four programs; on Debian that takes 0.1 to 0.3 s a question.
func withoutPackages(dir string, env []string) ([]string, error) {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return nil, err
	}
	return append(env, "PATH="+bin+":"+os.Getenv("PATH")), os.WriteFile(filepath.Join(bin, "dpkg-query"), []byte("#!/bin/sh\nexit 1\n"), 0o755)
}

// pauseFile is where a rootless Podman with its folder in dir writes the id of the process that keeps its namespaces.
func pauseFile(dir string) string { return filepath.Join(dir, "tmp", "pause.pid") }

// become makes user the owner of the daemon's folder. It returns the words that begin the command line of a service of that
// user, and its environment.
func (d *Daemon) become(user int, env []string) (as, with []string, err error) {
	if user == 0 {
		return nil, env, nil
	}
	home, run := filepath.Join(d.Dir, "home"), filepath.Join(d.Dir, "xdg")
	for _, dir := range []string{home, run} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	for _, path := range []string{d.Dir, home, run, filepath.Join(d.Dir, podmanFiles)} {
		if err := os.Chown(path, user, user); err != nil {
			return nil, nil, err
		}
	}
	d.pause = pauseFile(d.Dir)
	id := strconv.Itoa(user)
	return []string{"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"}, append(env, "HOME="+home, "XDG_RUNTIME_DIR="+run), nil
}

// podmanConfig returns a configuration with which Podman writes below dir alone.
func podmanConfig(dir, runc string, opt PodmanOptions) string {
	s := "[containers]\n"
	if !opt.NoUlimits {
		s += "default_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n"
	}
	s += fmt.Sprintf("[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = %q\n"+
		"static_dir = %q\ntmp_dir = %q\nvolume_path = %q\n[network]\nnetwork_config_dir = %q\n",
		runc, filepath.Join(dir, "root", "libpod"), filepath.Join(dir, "tmp"), filepath.Join(dir, "root", "volumes"), filepath.Join(dir, "net"))
	if len(opt.Volumes) > 0 {
		s += "[engine.volume_plugins]\n"
	}
	for name, socket := range opt.Volumes {
		s += fmt.Sprintf("%q = %q\n", name, socket)
	}
	return s
}
