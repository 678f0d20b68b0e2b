package dockertest

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/moby/sys/mountinfo"
)

// TestNothingIsLeft: a daemon that was used, killed and started again leaves no process, mount, cgroup or file.
func TestNothingIsLeft(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *Daemon{
		"docker":     Start,
		"podman":     func(t testing.TB) *Daemon { return Podman(t, PodmanOptions{}) },
		"containerd": Containerd,
	} {
		t.Run(name, func(t *testing.T) {
			var d *Daemon
			t.Run("life", func(t *testing.T) {
				d = start(t)
				ping(t, d)
				d.Kill()
				d.Restart(t)
				ping(t, d)
			})
			if d == nil {
				t.Skip("no daemon of this kind can be started")
			}
			if _, err := os.Stat(d.Dir); !os.IsNotExist(err) {
				t.Errorf("%s: %v, want it gone", d.Dir, err)
			}
			if ms, err := mountinfo.GetMounts(mountinfo.PrefixFilter(d.Dir)); err != nil || len(ms) > 0 {
				t.Errorf("mounts %v, %v; want none", ms, err)
			}
			if pids := append(pidsBelow(d.Dir), pidsIn(d.CgroupParent)...); len(pids) > 0 {
				t.Errorf("processes %v are left", pids)
			}
			// Podman's shared cgroup may be in use by another package's tests.
			if gs := cgroups(d.CgroupParent); len(gs) > 0 {
				t.Errorf("cgroups %v are left", gs)
			}
		})
	}
}

func ping(t *testing.T, d *Daemon) {
	t.Helper()
	if d.Namespace() != "" && len(d.Command) > 0 {
		cmd := exec.Command(d.Command[0], append(d.Command[1:], "containers", "ls")...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ctr: %v: %s", err, out)
		}
		return
	}
	if !strings.HasPrefix(d.Host, "unix://"+d.Dir+"/") {
		t.Fatalf("Host = %s, not below %s", d.Host, d.Dir)
	}
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	info, err := api.Info(ctx, client.InfoOptions{})
	if err != nil {
		t.Fatalf("%v; log: %s", err, lastLines(d.Log(), 10))
	}
	if !strings.HasPrefix(info.Info.DockerRootDir, d.Dir) {
		t.Errorf("the daemon keeps its data in %s, not below %s", info.Info.DockerRootDir, d.Dir)
	}
}
