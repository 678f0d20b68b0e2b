package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/leaktest"
)

// TestVolumesDocker: a Docker Engine makes, uses and removes volumes, while Plimsoll's daemon and the engine are killed and restarted.
func TestVolumesDocker(t *testing.T) {
	l := newVolumeLab(t)
	l.start()
	d := dockertest.Start(t)
	l.uses(d)
	for _, step := range []struct {
		name string
		f    func()
	}{
		{"bad input", l.badInput},
		{"life of a volume", l.life},
		{"stopped container", l.stoppedContainer},
		{"volume made by run", l.madeByRun},
		{"held at once", l.heldAtOnce},
		{"daemon killed", l.daemonKilled},
		{"daemon stopped", l.daemonStopped},
		{"many at once", l.manyAtOnce},
		{"dockerd killed", func() { l.dockerdKilled(d) }},
		{"dockerd first", func() { l.dockerdFirst(d) }},
	} {
		began := time.Now()
		step.f()
		t.Logf("%s: %v", step.name, time.Since(began).Round(time.Millisecond))
		if t.Failed() {
			t.Fatalf("%s failed", step.name)
		}
	}
	if list, err := l.volumes.List(); len(list) > 0 || err != nil {
		t.Errorf("volumes left: %v, %v", list, err)
	}
	l.compose()
}

func (l *volumeLab) badInput() {
	for _, row := range []struct{ options, words string }{
		{"capasity=1GB", "did you mean capacity"},
		{"capacity=1e30", "capacity"},
		{"capacity=0", "capacity"},
		{"capacity=20G", "capacity"},
		{"level=3", "level"},
		{"profile=NONE", "NONE"},
		{"backend=nfs", "nfs"},
	} {
		if out, err := l.try("volume", "create", "-d", l.driver, "-o", row.options, "bad"); err == nil || !strings.Contains(out, row.words) {
			l.Errorf("-o %s: %v: %s", row.options, err, out)
		}
	}
	if out := l.do("volume", "ls", "-q", "-f", "driver="+l.driver); out != "" {
		l.Errorf("volumes after refusals: %s", out)
	}
}

func (l *volumeLab) life() {
	l.do("volume", "create", "-d", l.driver, "-o", "capacity=32MiB", "-o", "iops.max=500", "db")
	l.do("volume", "create", "-d", l.driver, "-o", "capacity=32MiB", "-o", "iops.max=500", "db")
	if got, want := l.inspect("db", "{{.Driver}} {{.Mountpoint}} {{.Scope}} {{.Status.mounts}} {{.Status.backend}} {{.Status.promises.enforced.capacity}}"), l.driver+"  local [] local 32MiB"; got != want {
		l.Errorf("inspect: %q, want %q", got, want)
	}
	l.do("run", "-d", "--network=none", "--name", "db", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.put("db", "kept")
	l.is("running", "db", 1)
	if got := l.inspect("db", "{{.Mountpoint}}"); got != l.root("db") {
		l.Errorf("the mountpoint is %q", got)
	}
	if b, err := os.ReadFile(filepath.Join(l.root("db"), "f")); string(b) != "kept" {
		l.Errorf("the file on the host is %q, %v", b, err)
	}
	if out, err := l.try("volume", "rm", "db"); err == nil {
		l.Errorf("a volume in use was removed: %s", out)
	}
	l.do("run", "-d", "--network=none", "--name", "second", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.is("two running", "db", 2)
	l.has("two running", "second", "kept")
	l.do("rm", "-f", "db")
	l.is("one removed", "db", 1)
	l.do("rm", "-f", "second")
	l.is("both removed", "db", 0)
	l.do("volume", "rm", "db")
	if _, err := l.volumes.Restore(l.Context(), "db"); err != nil {
		l.Error(err)
	}
	if out := l.do("volume", "ls", "-q", "-f", "driver="+l.driver); out != "db" {
		l.Errorf("after a restore: %s", out)
	}
}

func (l *volumeLab) stoppedContainer() {
	l.do("create", "--network=none", "--name", "stopped", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.copies("stopped", "kept", "copied")
	l.is("after docker cp", "db", 0)
	l.do("start", "stopped")
	l.has("started", "stopped", "copied")
	l.copies("stopped", "copied", "again") // It mounts and unmounts with the container's own id.
	l.is("after docker cp of a running container", "db", 1)
	l.has("after docker cp", "stopped", "again")
	l.do("rm", "-f", "stopped")
	l.is("removed", "db", 0)
}

func (l *volumeLab) madeByRun() {
	l.do("run", "-d", "--network=none", "--name", "run", "--mount", "type=volume,src=made,dst=/data,volume-driver="+l.driver+",volume-opt=capacity=32MiB,volume-opt=backend=directory", dockertest.SleeperImage, "/sleeper")
	l.is("running", "made", 1)
	l.do("rm", "-f", "run")
	l.do("volume", "rm", "made")
}

// heldAtOnce: a container whose program writes as soon as it begins is held, though its group is new.
func (l *volumeLab) heldAtOnce() {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		l.Logf("no container writes at once: %v", err)
		return
	}
	image := filepath.Join(l.TempDir(), "image.tar")
	if out, err := exec.Command("tar", "-C", filepath.Dir(busybox), "-cf", image, "busybox").CombinedOutput(); err != nil {
		l.Fatalf("tar: %v: %s", err, out)
	}
	l.do("import", image, "held:1")
	l.do("volume", "create", "-d", l.driver, "-o", "capacity=64MiB", "-o", "bandwidth.max=10MB", "held")
	began := time.Now()
	l.do("run", "--rm", "--network=none", "-v", "held:/data", "held:1", "/busybox", "dd", "if=/dev/zero", "of=/data/f", "bs=1M", "count=20", "conv=fsync")
	// 20 MiB take 2.1 s at that rate. Without a limit it is 0.1 s, and a container's start takes some tenths of a second.
	if took := time.Since(began); took < 1700*time.Millisecond {
		l.Errorf("20 MiB through a limit of 10 MB/s took %v", took)
	}
	l.do("volume", "rm", "held")
	l.do("rmi", "held:1")
}

// daemonKilled: containers go on without the daemon, and the next one knows who uses what.
func (l *volumeLab) daemonKilled() {
	l.do("run", "-d", "--network=none", "--name", "db", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.put("db", "before")
	l.end(syscall.SIGKILL)
	l.has("without the daemon", "db", "before")
	l.put("db", "meanwhile")
	l.restart()
	l.is("after the restart", "db", 1)
	l.has("after the restart", "db", "meanwhile")
	l.do("restart", "-t", "0", "db")
	l.is("after a restart of the container", "db", 1)
	l.has("after a restart of the container", "db", "meanwhile")
	l.restart()
	l.do("rm", "-f", "db")
	l.is("removed", "db", 0)
}

// daemonStopped: a daemon that ends takes its socket with it, so that nothing waits for it, and leaves the mounts.
func (l *volumeLab) daemonStopped() {
	l.do("run", "-d", "--network=none", "--name", "db", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.do("volume", "create", "other")
	l.end(syscall.SIGTERM)
	if _, err := os.Lstat(l.socket); !os.IsNotExist(err) {
		l.Errorf("the socket outlives the daemon: %v", err)
	}
	l.has("without the daemon", "db", "meanwhile")
	// The engine keeps a connection to a driver that it has used, and tries it again for half a minute.
	if out := l.do("volume", "ls", "-q"); !strings.Contains(out, "other") {
		l.Errorf("volumes without the daemon: %q", out)
	}
	if out := l.do("ps", "-q"); out == "" {
		l.Error("no container without the daemon")
	}
	l.start()
	l.do("rm", "-f", "db")
	l.do("volume", "rm", "other")
	l.is("removed", "db", 0)
}

// manyAtOnce: containers on a few volumes start and end at once.
func (l *volumeLab) manyAtOnce() {
	n := 8
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		n = 20
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := fmt.Sprintf("many-%d", i)
			_, err := l.try("run", "-d", "--network=none", "--name", name, "--mount", fmt.Sprintf("type=volume,src=many-%d,dst=/data,volume-driver=%s,volume-opt=capacity=32MiB", i%(n/2), l.driver), dockertest.SleeperImage, "/sleeper")
			if err != nil {
				l.Errorf("container %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for i := range n / 2 {
		l.is("all running", fmt.Sprintf("many-%d", i), 2)
	}
	for i := range n {
		wg.Go(func() { l.try("rm", "-f", fmt.Sprintf("many-%d", i)) })
	}
	wg.Wait()
	for i := range n / 2 {
		l.is("all removed", fmt.Sprintf("many-%d", i), 0)
		l.do("volume", "rm", fmt.Sprintf("many-%d", i))
	}
}

// dockerdKilled: a killed engine never sends its unmounts. A container that it starts again has another id; the old one is ended by Reconcile.
func (l *volumeLab) dockerdKilled(d *dockertest.Daemon) {
	l.do("volume", "create", "-d", l.driver, "-o", "capacity=32MiB", "lost")
	l.do("run", "-d", "--network=none", "--restart=always", "--name", "always", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.do("run", "-d", "--network=none", "--name", "lost", "-v", "lost:/data", dockertest.SleeperImage, "/sleeper")
	d.Kill()
	d.Restart(l)
	l.awaitRunning("always")
	l.has("after the engine's restart", "always", "meanwhile")
	if got := l.users("db"); got < 1 {
		l.Errorf("users of the volume of a restarted container: %d", got)
	}
	l.do("rm", "-f", "lost")
	for _, name := range []string{"db", "lost"} {
		if l.users(name) > 0 {
			l.older(name)
		}
	}
	l.restart() // A daemon reconciles as it starts.
	if got := l.users("db"); got < 1 || l.root("db") == "" {
		l.Errorf("users of the volume of a running container after Reconcile: %d", got)
	}
	l.awaitUnused("lost")
	l.is("without a container, after Reconcile", "lost", 0)
	l.do("volume", "rm", "lost")
	l.do("rm", "-f", "always")
	if l.users("db") > 0 {
		l.older("db")
		l.awaitUnused("db")
	}
	l.is("without a container", "db", 0)
}

// awaitUnused restarts the daemon, which reconciles, until a volume has no users. A process of another test may have copied all mounts of the
// machine into a namespace of its own, and the volume counts as used while it runs.
func (l *volumeLab) awaitUnused(name string) {
	l.Helper()
	for end := time.Now().Add(2 * time.Minute); l.users(name) > 0 && time.Now().Before(end); time.Sleep(time.Second) {
		l.restart()
	}
}

func (l *volumeLab) awaitRunning(container string) {
	l.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, _ := l.try("inspect", "-f", "{{.State.Running}}", container)
		if out == "true" {
			return
		}
		if time.Now().After(end) {
			l.Fatalf("container %s doesn't run: %s", container, out)
		}
	}
}

// dockerdFirst: an engine that starts before the daemon, or at the same time, loses no volume.
func (l *volumeLab) dockerdFirst(d *dockertest.Daemon) {
	l.do("create", "--network=none", "--name", "db", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.end(syscall.SIGTERM)
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" { // The engine waits for the driver, three times.
		d.Restart(l)
		if out, err := l.try("start", "db"); err == nil {
			l.Errorf("a container started without its driver: %s", out)
		}
		l.start()
		l.do("start", "db")
		l.has("started", "db", "meanwhile")
		l.do("stop", "-t", "0", "db")
		l.end(syscall.SIGTERM)
	}
	started := make(chan struct{})
	go func() { defer close(started); d.Restart(l) }()
	l.start()
	<-started
	l.do("start", "db")
	l.has("started at once", "db", "meanwhile")
	l.do("rm", "-f", "db")
	l.is("removed", "db", 0)
	l.do("volume", "rm", "db")
}

// composeFile has a volume of the driver. Without a network, for which the engine of the test lacks a bridge.
const composeFile = `version: "3"
services:
  db:
    image: %s
    command: /sleeper
    network_mode: none
    volumes: ["data:/data"]
volumes:
  data:
    driver: %s
    driver_opts:
      capacity: 32MiB
`

func (l *volumeLab) compose() {
	compose, err := exec.LookPath("docker-compose")
	if err != nil {
		l.Skip("needs docker-compose: scripts/setup test")
	}
	file := filepath.Join(l.TempDir(), "docker-compose.yml")
	text := fmt.Sprintf(composeFile, dockertest.SleeperImage, l.driver)
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			l.Fatal(err)
		}
	}
	run := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, compose, append([]string{"-f", file, "-p", "shop"}, args...)...)
		c.Env = append(l.env, "COMPOSE_ANSI=never")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	write(text)
	for range 2 {
		if out, err := run("up", "-d"); err != nil {
			l.Fatalf("docker-compose up: %v: %s", err, out)
		}
	}
	l.is("up", "shop_data", 1)
	write(strings.Replace(text, "32MiB", "64MiB", 1))
	if out, err := run("up", "-d"); err == nil || !strings.Contains(out, "shop_data") {
		l.Errorf("with another capacity: %v: %s", err, out)
	}
	if out, err := run("down", "-v"); err != nil {
		l.Errorf("docker-compose down: %v: %s", err, out)
	}
	if _, err := l.volumes.Get("shop_data"); err == nil {
		l.Error("docker-compose down -v left the volume")
	}
}

// TestVolumesLiveRestore: an engine that is restarted under a running container sends the unmount with the id of the mount before.
func TestVolumesLiveRestore(t *testing.T) {
	l := newVolumeLab(t)
	l.start()
	d := dockertest.StartWith(t, `{"live-restore": true}`)
	l.uses(d)
	l.do("volume", "create", "-d", l.driver, "-o", "capacity=32MiB", "db")
	l.do("run", "-d", "--network=none", "--name", "db", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.put("db", "kept")
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(d.PID(), s); err != nil {
			t.Fatal(err)
		}
		for range 600 {
			if syscall.Kill(d.PID(), 0) != nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		l.is("while the engine is down", "db", 1)
		l.restart()
		d.Restart(t)
		l.awaitRunning("db")
		l.is("restored", "db", 1)
		if b, err := os.ReadFile(filepath.Join(l.root("db"), "f")); string(b) != "kept" {
			t.Errorf("restored: the file is %q, %v", b, err)
		}
	}
	l.do("stop", "-t", "0", "db")
	l.is("stopped", "db", 0)
	if left := leaktest.Find(filepath.Join(l.state, "volumes")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	l.do("start", "db")
	l.is("started again", "db", 1)
	l.do("rm", "-f", "db")
	l.do("volume", "rm", "db")
}

// TestVolumesPodman: Podman uses the same socket.
func TestVolumesPodman(t *testing.T) {
	l := newVolumeLab(t)
	l.start()
	l.uses(dockertest.Podman(t, dockertest.PodmanOptions{Volumes: map[string]string{l.driver: l.socket}}))
	if out, err := l.try("volume", "create", "--driver", l.driver, "-o", "capasity=1GB", "bad"); err == nil || !strings.Contains(out, "did you mean capacity") {
		t.Errorf("a misspelt option: %v: %s", err, out)
	}
	l.do("volume", "create", "--driver", l.driver, "-o", "capacity=32MiB", "db")
	if out, err := l.try("volume", "create", "--driver", l.driver, "-o", "capacity=32MiB", "db"); err == nil {
		t.Logf("Podman makes a volume twice: %s", out)
	}
	l.do("create", "--network=none", "--name", "db", "-v", "db:/data", dockertest.SleeperImage, "/sleeper")
	l.do("start", "db") // Podman 4.3 refuses to copy into the volume of a stopped container.
	l.put("db", "here")
	l.copies("db", "here", "copied")
	l.is("running", "db", 1)
	l.has("running", "db", "copied")
	l.end(syscall.SIGKILL)
	l.has("without the daemon", "db", "copied")
	l.restart()
	l.is("after the restart", "db", 1)
	if got := l.inspect("db", "{{.Driver}} {{.Mountpoint}}"); !strings.HasPrefix(got, l.driver) {
		t.Errorf("inspect: %q", got)
	}
	l.do("rm", "-f", "-t", "0", "db")
	l.is("removed", "db", 0)
	l.do("volume", "rm", "db")
	if list, err := l.volumes.List(); len(list) > 0 || err != nil {
		t.Errorf("volumes left: %v, %v", list, err)
	}
}
