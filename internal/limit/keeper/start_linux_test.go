package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/text/threshold"
)

// starts is how many containers are started for a median.
const starts = 10

// unheld measures, from when a runtime has noted a container in a file, how long it is until is reports true. It begins at once, and
// sends one value, or none if it isn't so in 20 s.
func unheld(file string, is func() bool) <-chan time.Duration {
	took := make(chan time.Duration, 1)
	go func() {
		defer close(took)
		const step = 200 * time.Microsecond
		end := time.Now().Add(20 * time.Second)
		var at time.Time
		for ; at.IsZero(); time.Sleep(step) {
			// The file may be replaced at once: the first one's time counts.
			if st, err := os.Stat(file); err == nil {
				at = st.ModTime()
			} else if time.Now().After(end) {
				return
			}
		}
		for ; !is(); time.Sleep(step) {
			if time.Now().After(end) {
				return
			}
		}
		took <- time.Since(at)
	}()
	return took
}

// logTimes logs how long containers were not held.
func logTimes(t *testing.T, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	t.Logf("from the runtime's file to the limit in the kernel: median %v, longest %v of %d, goal <= %v: %s", took[len(took)/2], took[len(took)-1], len(took), startGoal, threshold.Verdict(took[len(took)-1] <= startGoal))
}

// startRules hold all that an engine starts.
func startRules(engine, disk string) string {
	return fmt.Sprintf("rules:\n- {name: all, match: {engine: %s}, where: {device: %s}, limits: {write_bps: 10MiB}}\n", engine, disk)
}

// sleeperRoot is a root file system with the sleeper.
func sleeperRoot(t *testing.T, dir string) {
	t.Helper()
	for _, d := range []string{"proc", "dev", "sys", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "sleeper"), dockertest.Sleeper(t), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestStartRunc: a container of runc's alone is held right after runc has noted it, which is before its program begins.
func TestStartRunc(t *testing.T) {
	needV1(t)
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("needs runc: apt-get install runc")
	}
	prefix := fmt.Sprintf("plimsoll-keeper-start-%d", os.Getpid())
	leaktest.Check(t, prefix)
	bundle, root := t.TempDir(), filepath.Join(t.TempDir(), "runc")
	sleeperRoot(t, filepath.Join(bundle, "rootfs"))
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	number := disktest.Number(t, disk)
	r := start(t, Options{Holder: finderOf(t, target.Options{Runc: []string{root}}), Check: hour}, startRules("oci", disk))
	r.connected(true)
	oci := func(args ...string) error {
		// A file and no pipe: the container keeps it open.
		f, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			return err
		}
		defer f.Close()
		cmd := exec.Command(runc, append([]string{"--root", root}, args...)...)
		cmd.Stdout, cmd.Stderr = f, f
		if err = cmd.Run(); err != nil {
			out, _ := os.ReadFile(f.Name())
			err = fmt.Errorf("runc %v: %w: %s", args, err, out)
		}
		return err
	}
	var took []time.Duration
	for i := range starts {
		id := fmt.Sprintf("%s-%d", prefix, i)
		config, err := json.Marshal(map[string]any{
			"ociVersion": "1.0.2", "process": map[string]any{"args": []string{"/sleeper"}, "cwd": "/"},
			"root": map[string]any{"path": "rootfs"}, "mounts": []any{map[string]any{"destination": "/proc", "type": "proc", "source": "proc"}},
			"linux": map[string]any{"cgroupsPath": "/" + id, "namespaces": []any{map[string]any{"type": "pid"}, map[string]any{"type": "mount"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bundle, "config.json"), config, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = oci("delete", "--force", id) })
		told := unheld(filepath.Join(root, id, "state.json"), func() bool { return rate("/"+id, number) == "10485760" })
		if err := errors.Join(oci("create", "--bundle", bundle, id), oci("start", id)); err != nil {
			t.Fatal(err)
		}
		d, ok := <-told
		if !ok {
			t.Fatalf("%s is not held within 20 s", id)
		}
		took = append(took, d)
		if err := oci("delete", "--force", id); err != nil {
			t.Fatal(err)
		}
	}
	logTimes(t, took)
}

// TestStartContainerd: a container of containerd's is held right after its shim has noted it, which is before its program begins.
func TestStartContainerd(t *testing.T) {
	needV1(t)
	d := dockertest.Containerd(t)
	ctr := func(words ...string) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, d.Command[0], append(slices.Clone(d.Command[1:]), words...)...)
		cmd.Env = d.Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("ctr %v: %w: %s", words, err, out)
		}
		return nil
	}
	root := t.TempDir()
	sleeperRoot(t, root)
	disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	number := disktest.Number(t, disk)
	options := target.Options{Containerd: []target.ContainerdRoot{{State: d.ContainerdState(), Address: strings.TrimPrefix(d.Host, "unix://")}}}
	r := start(t, Options{Holder: finderOf(t, options), Check: hour}, startRules("containerd", disk))
	r.connected(true)
	var took []time.Duration
	for i := range starts {
		id := fmt.Sprintf("plimsoll-keeper-start-%d", i)
		// ctr names the group so.
		group := "/" + d.Namespace() + "/" + id
		told := unheld(filepath.Join(d.ContainerdState(), "io.containerd.runtime.v2.task", d.Namespace(), id, "init.pid"), func() bool { return rate(group, number) == "10485760" })
		end := func() error { return errors.Join(ctr("tasks", "rm", "-f", id), ctr("containers", "rm", id)) }
		if err := ctr("run", "--detach", "--null-io", "--rootfs", root, id, "/sleeper"); err != nil {
			_ = end()
			t.Fatal(err)
		}
		d, ok := <-told
		if err := end(); err != nil {
			t.Error(err)
		}
		if !ok {
			t.Fatalf("%s is not held within 20 s", id)
		}
		took = append(took, d)
	}
	logTimes(t, took)
}
