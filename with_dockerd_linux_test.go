package plimsoll_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/leaktest"
)

// envInside is set if the test runs as the command of scripts/with-dockerd; its value is the path of the test's note.
const envInside = "PLIMSOLL_TEST_WITH_DOCKERD"

// TestWithDockerd: the benchmarks' daemon is independent: it uses no part of the machine's, its containers are in its own control
// group, and a running container ends with it.
func TestWithDockerd(t *testing.T) {
	if note := os.Getenv(envInside); note != "" {
		insideDockerd(t, note)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, to start a Docker daemon")
	}
	for _, program := range []string{"dockerd", "containerd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: apt-get install docker.io", program)
		}
	}
	if _, err := os.ReadFile("scripts/with-dockerd"); err != nil { // Read here, so that go test runs again when it has changed.
		t.Fatal(err)
	}
	common := func() []string {
		found, _ := filepath.Glob("/sys/fs/cgroup/*/docker")
		return found
	}
	before := common()
	note := filepath.Join(t.TempDir(), "note")
	cmd := exec.Command("scripts/with-dockerd", os.Args[0], "-test.run=^TestWithDockerd$", "-test.v")
	cmd.Env = append(os.Environ(), envInside+"="+note)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	b, err := os.ReadFile(note)
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	dir, pid, _ := strings.Cut(string(b), " ")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the daemon's folder: %v, want it gone", err)
	}
	if left := leaktest.Find(filepath.Base(dir)); len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
	if _, err := os.Stat("/proc/" + pid); !os.IsNotExist(err) {
		t.Errorf("the container's process %s: %v, want it gone", pid, err)
	}
	if after := common(); len(after) > len(before) {
		t.Errorf("control groups of all daemons: %q, before %q", after, before)
	}
	if left, _ := filepath.Glob("/proc/[0-9]*/cmdline"); slices.ContainsFunc(left, func(f string) bool {
		b, _ := os.ReadFile(f)
		return strings.Contains(string(b), dir+"/")
	}) {
		t.Error("a process of the daemon is left")
	}
	// Its exit status is the command's.
	cmd = exec.Command("scripts/with-dockerd", "sh", "-c", "exit 7")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("the status of exit 7: %v:\n%s", err, out)
	}
}

// insideDockerd starts a container that keeps running, and checks the daemon's surroundings.
func insideDockerd(t *testing.T, note string) {
	dir := filepath.Dir(strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://"))
	api, err := client.New(client.FromEnv)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	info, err := api.Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Info.DockerRootDir; !strings.HasPrefix(got, dir+"/") {
		t.Errorf("the daemon keeps its data in %s, want it below %s", got, dir)
	}
	dockertest.ImportSleeper(t, api)
	c, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: dockertest.SleeperImage, Cmd: []string{"/sleeper"}},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	at, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pid := at.Container.State.Pid
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	if want := "/" + filepath.Base(dir) + "/" + c.ID; !strings.Contains(string(b), want) {
		t.Errorf("the container's groups are\n%swant %s", b, want)
	}
	argv, err := os.ReadFile("/proc/" + daemonPid(t, dir) + "/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"--config-file", "--containerd"} {
		if want := option + "\x00" + dir + "/"; !strings.Contains(string(argv), want) {
			t.Errorf("the daemon's command line is %q: want %s below %s", argv, option, dir)
		}
	}
	if err := os.WriteFile(note, fmt.Appendf(nil, "%s %d", dir, pid), 0o600); err != nil {
		t.Fatal(err)
	}
}

// daemonPid reads the id of the daemon's process.
func daemonPid(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}
