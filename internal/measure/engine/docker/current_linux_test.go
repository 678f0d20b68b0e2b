package docker_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/docker"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/workertest"
	"plimsoll/load"
)

// TestDockerCurrent: what sets the current Docker Engine apart from Debian's is seen and
// recorded: its default profile forbids io_uring, its images are in containerd's
// store, its API is 1.56.
func TestDockerCurrent(t *testing.T) {
	enginetest.NeedRoot(t)
	if os.Getenv(dockertest.EnvPrograms) == "" {
		t.Skip("needs the current Docker Engine: make test-current-docker")
	}
	d := dockertest.SharedDocker(t)
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	info, err := api.Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(info.Info.DriverStatus, [2]string{"driver-type", "io.containerd.snapshotter.v1"}) {
		t.Errorf("the daemon's driver is %s %v, want a snapshotter: this is not the current engine's default", info.Info.Driver, info.Info.DriverStatus)
	}

	e := docker.New(docker.Options{Host: d.Host, StateDir: t.TempDir(), Worker: workertest.Source(t)})
	p := e.Probe(t.Context())
	if !p.OK || !strings.HasSuffix(p.Version, "(API 1.56)") {
		t.Errorf("Probe() = %+v, want API 1.56", p)
	}
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.HasPrefix(n, "storage overlayfs (containerd snapshotter)") }) {
		t.Errorf("Probe() has notes %q, want the snapshotter", p.Notes)
	}
	id := enginetest.ID()
	leaktest.Check(t, id)
	s, err := e.Open(t.Context(), engine.Spec{ID: id, Place: place.Spec{Name: "volume", Kind: place.Volume}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	i := s.Info()
	if !strings.HasSuffix(i.Daemon, "(API 1.56)") {
		t.Errorf("Info().Daemon = %q, want API 1.56", i.Daemon)
	}
	if i.Storage != "overlayfs (containerd snapshotter)" {
		t.Errorf("Info().Storage = %q, want the snapshotter", i.Storage)
	}
	if !strings.HasPrefix(i.Runtime, "runc 1.") {
		t.Errorf("Info().Runtime = %q, want runc 1", i.Runtime)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a, err := agent.Open(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if a.Hello.Seccomp != 2 {
		t.Errorf("seccomp mode %d, want 2: a filter", a.Hello.Seccomp)
	}
	probes, err := a.Probe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range probes {
		if want := p.Engine != load.IOUring; p.OK != want {
			t.Errorf("%s works: %v (%s), want %v", p.Engine, p.OK, p.Reason, want)
		}
		if p.Engine == load.IOUring && !strings.Contains(p.Reason, "seccomp") {
			t.Errorf("io_uring does not work because of %q, want seccomp named", p.Reason)
		}
	}
	w := workload.Spec{Name: "r", Kind: workload.Block, Job: load.Job{RW: load.RandRead, BS: 4096, Size: 1 << 20, NumberIOs: 100, Direct: true, IODepth: 4}}
	if err := a.Prepare(ctx, "1", w); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	res, err := a.Wait(ctx, "1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.IOEngine != load.LinuxAIO {
		t.Errorf("the job used %s, want linux-aio", res.IOEngine)
	}
}
