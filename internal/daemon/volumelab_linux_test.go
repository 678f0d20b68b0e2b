package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/provide/plugin"
	"plimsoll/internal/provide/volume"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/ownertest"
)

// sockets are those in Docker's folder that a killed test left: each dockerd of this machine would wait for them.
var sockets = ownertest.Notes{Kind: "volumesocket", Remove: func(path string) error {
	if filepath.Dir(path) != filepath.Dir(plugin.Socket) {
		return fmt.Errorf("%q is no plugin's socket", path)
	}
	return os.RemoveAll(path)
}}

func init() {
	killtest.Life("volume-daemon", func(dir string) error {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		socket, err := os.ReadFile(filepath.Join(dir, "socket"))
		if err != nil {
			return err
		}
		return ServeVolumes(ctx, volume.New(dir), string(socket), func(line string) { fmt.Fprintln(os.Stderr, line) })
	})
}

// A volumeLab is a daemon with volumes, in a process of its own, and the clients of an engine that uses it.
type volumeLab struct {
	*testing.T
	// driver is its name for engines.
	driver, socket, state string
	volumes               *volume.Volumes
	daemon                *exec.Cmd
	log                   *bytes.Buffer
	// engine begins the command line of the engine's client, with env.
	engine, env []string
}

// newVolumeLab starts a daemon with volumes, whose driver has a name of the test's own.
func newVolumeLab(t *testing.T) *volumeLab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	state, err := os.MkdirTemp("", "vol")
	if err != nil {
		t.Fatal(err)
	}
	l := &volumeLab{T: t, driver: "plimsoll-" + filepath.Base(state), state: state, volumes: volume.New(state), log: &bytes.Buffer{}}
	l.socket = filepath.Join(filepath.Dir(plugin.Socket), l.driver+".sock")
	t.Cleanup(func() {
		l.end(syscall.SIGTERM)
		os.Remove(l.socket)
		mounts, _ := filepath.Glob(filepath.Join(state, "volumes", "*", "mount"))
		for _, m := range mounts {
			_ = syscall.Unmount(m, syscall.MNT_DETACH) // What a failed test left.
		}
		os.RemoveAll(state)
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", l.log)
		}
	})
	leaktest.Check(t, state)
	sockets.Add(t, l.socket)
	if err := os.WriteFile(filepath.Join(state, "socket"), []byte(l.socket), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// start starts the daemon and waits until it listens.
func (l *volumeLab) start() {
	l.Helper()
	c := killtest.Command("volume-daemon", l.state)
	c.Stderr = l.log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := c.Start(); err != nil {
		l.Fatal(err)
	}
	l.daemon = c
	for range 3000 {
		if st, err := os.Lstat(l.socket); err == nil && st.Mode().Perm() == 0o600 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.Fatalf("the daemon doesn't listen: %s", l.log)
}

// end ends the daemon by a signal.
func (l *volumeLab) end(s syscall.Signal) {
	if l.daemon == nil {
		return
	}
	_ = l.daemon.Process.Signal(s)
	_ = l.daemon.Wait()
	l.daemon = nil
}

// restart kills the daemon, and starts another one.
func (l *volumeLab) restart() {
	l.Helper()
	l.end(syscall.SIGKILL)
	os.Remove(l.socket) // So that start sees the new one.
	l.start()
}

// uses makes a Docker daemon's client the lab's engine.
func (l *volumeLab) uses(d *dockertest.Daemon) {
	l.Helper()
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		l.Fatal(err)
	}
	defer api.Close()
	dockertest.ImportSleeper(l, api)
	if d.Command != nil {
		l.engine, l.env = d.Command, d.Env
		return
	}
	docker, err := exec.LookPath("docker")
	if err != nil {
		l.Skip("needs docker: scripts/setup test")
	}
	l.engine, l.env = []string{docker}, append(os.Environ(), "DOCKER_HOST="+d.Host)
}

// try runs the engine's client.
func (l *volumeLab) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, l.engine[0], append(l.engine[1:len(l.engine):len(l.engine)], args...)...)
	c.Env = l.env
	out, err := c.Output() // Podman warns on standard error.
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr), err
	}
	return strings.TrimSpace(string(out)), err
}

// do is try that must succeed.
func (l *volumeLab) do(args ...string) string {
	l.Helper()
	out, err := l.try(args...)
	if err != nil {
		l.Fatalf("%s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// inspect is a template's text of a volume.
func (l *volumeLab) inspect(name, template string) string {
	l.Helper()
	return l.do("volume", "inspect", "-f", template, name)
}

// root is where a volume is mounted, "" if it isn't.
func (l *volumeLab) root(name string) string {
	l.Helper()
	v, err := l.volumes.Get(name)
	if err != nil {
		l.Fatal(err)
	}
	root, err := l.volumes.Root(v)
	if err != nil {
		l.Fatal(err)
	}
	return root
}

// users are how many use a volume.
func (l *volumeLab) users(name string) int {
	l.Helper()
	users, err := l.volumes.Users(name)
	if err != nil {
		l.Fatal(err)
	}
	return len(users)
}

// is fails the test unless a volume is mounted for so many users.
func (l *volumeLab) is(when, name string, users int) {
	l.Helper()
	if got, root := l.users(name), l.root(name); got != users || (root != "") != (users > 0) {
		l.Errorf("%s: volume %s has %d users, want %d, and is mounted at %q", when, name, got, users, root)
	}
}

// file is the file of a running container's volume, as the container sees it.
func (l *volumeLab) file(container string) string {
	l.Helper()
	return filepath.Join("/proc", l.do("inspect", "-f", "{{.State.Pid}}", container), "root/data/f")
}

// put writes a file into a running container's volume.
func (l *volumeLab) put(container, text string) {
	l.Helper()
	if err := os.WriteFile(l.file(container), []byte(text), 0o644); err != nil {
		l.Fatal(err)
	}
}

// has fails the test unless a running container's volume has what was put there.
func (l *volumeLab) has(when, container, text string) {
	l.Helper()
	if got, err := os.ReadFile(l.file(container)); string(got) != text {
		l.Errorf("%s: the file is %q, %v, want %q", when, got, err, text)
	}
}

// copies fails the test unless the engine copies text out of a container's volume, and then copies another text into it.
func (l *volumeLab) copies(container, text, next string) {
	l.Helper()
	file := filepath.Join(l.TempDir(), "f")
	l.do("cp", container+":/data/f", file)
	if got, _ := os.ReadFile(file); string(got) != text {
		l.Errorf("copied from %s: %q, want %q", container, got, text)
	}
	if err := os.WriteFile(file, []byte(next), 0o644); err != nil {
		l.Fatal(err)
	}
	l.do("cp", file, container+":/data/f")
}

// older moves the beginning of a volume's uses into the past, where Reconcile looks for their containers.
func (l *volumeLab) older(name string) {
	l.Helper()
	j := journal.In(l.state)
	e, err := j.Get("volume-use", name)
	if err != nil {
		l.Fatal(err)
	}
	year := fmt.Sprint(time.Now().Year())
	e.Payload = bytes.ReplaceAll(e.Payload, []byte(`"since":"`+year), []byte(`"since":"2001`))
	if err := j.Keep(l.Context(), "volume-use", name, e.Payload); err != nil {
		l.Fatal(err)
	}
}
